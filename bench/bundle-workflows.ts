import { writeFileSync } from "node:fs";
import { bundleWorkflows } from "../src/worker/workflow-bundle.js";

/* The bench's workers are started as the built product's are: the workflow code is bundled before, and no bundler is in their memory. */

writeFileSync(new URL("../src/workflow-bundle.cjs", import.meta.url), (await bundleWorkflows()).code);
