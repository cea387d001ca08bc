// Bundles src/ and its types into dist/, and the workflow code and the page, so that neither a worker nor a user needs a bundler.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, cp, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LIBRARY, buildCode } from "./build-code.mjs";
import { buildPage } from "./build-page.mjs";
import { writeCommonJsTypes } from "./commonjs-types.mjs";
import { pruneTypes } from "./prune-types.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
// The first `npx interlock` in a checkout has npm prepare it: whatever runs on the build that is there would lose it.
const isForNpx = process.env.npm_command === "exec" && process.env.npm_lifecycle_event === "prepare";
if (isForNpx && existsSync(`${root}/dist/workflow-bundle.cjs`)) process.exit();
await rm(`${root}/dist`, { recursive: true, force: true });
await Promise.all([buildTypes(), buildCode(`${root}/dist`), buildPage(`${root}/dist/page/web`)]);
for (const file of ["seal/sealed-failures.cjs", "mcp/keep-server.cjs"])
  await cp(`${root}/src/${file}`, `${root}/dist/${file}`);
const { bundleWorkflows } = await import("../dist/worker/workflow-bundle.js");
const { code } = await bundleWorkflows();
await writeFile(`${root}/dist/workflow-bundle.cjs`, code);
await pruneTypes(`${root}/dist`, LIBRARY);
await writeCommonJsTypes(LIBRARY.map((name) => `${root}/dist/${name}.js`));
await chmod(`${root}/dist/cli/main.js`, 0o755);

async function buildTypes() {
  const compiler = `${root}/node_modules/typescript/bin/tsc`;
  await promisify(execFile)(process.execPath, [compiler, "-p", `${root}/tsconfig.build.json`]).catch(
    (error) => {
      throw new Error(`${error.stdout}${error.stderr}`);
    },
  );
}
