export { bundleRun } from "./bundle-run.js";
export { graphRun } from "./graph-run.js";
export { runNotice } from "./run-notice.js";
export { storeRead } from "./store-read.js";
export { storeRecord } from "./store-record.js";
