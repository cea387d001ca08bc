export { graphRun } from "./graph-run.js";
