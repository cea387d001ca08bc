// Compiles src/ to dist/, and bundles the workflow code and the page, so that neither a worker nor a user needs a bundler.
import { execFileSync } from "node:child_process";
import { chmod, cp, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { buildPage } from "./build-page.mjs";
import { writeCommonJsTypes } from "./commonjs-types.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
await rm(`${root}/dist`, { recursive: true, force: true });
execFileSync(
  process.execPath,
  [`${root}/node_modules/typescript/bin/tsc`, "-p", `${root}/tsconfig.build.json`],
  {
    stdio: "inherit",
  },
);
await buildPage(`${root}/dist/page/web`);
await cp(`${root}/src/seal/sealed-failures.cjs`, `${root}/dist/seal/sealed-failures.cjs`);
const { bundleWorkflows } = await import("../dist/worker/workflow-bundle.js");
const { code } = await bundleWorkflows();
await writeFile(`${root}/dist/workflow-bundle.cjs`, code);
await writeCommonJsTypes(
  ["index", "core/index", "instruments/metrics", "replay", "worker"].map((name) => `${root}/dist/${name}.js`),
);
await chmod(`${root}/dist/cli/main.js`, 0o755);
