/** Bundles src/ into dist/: a file for each module that is loaded by its path, and what they share in dist/chunks/. */
import { builtinModules, createRequire } from "node:module";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { esmExternalRequirePlugin } from "rolldown/plugins";
import { licensesOf } from "./licenses.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOURCE = join(ROOT, "src");

/** The modules that programs import: `exports` of package.json. */
export const LIBRARY = ["index", "core/index", "replay", "worker", "instruments/metrics"];

/** The modules that are run or imported by their path. */
const PROGRAMS = [
  "cli/main",
  "embedded/gate-main",
  // deploy/worker-health.mjs
  "config",
  "environment/listen-address",
  // scripts/build.mjs
  "worker/workflow-bundle",
  // several commands in one process, in tests
  "cli/program",
  "cli/terminal/output",
];

/** What Temporal's bundler is given: the workflow code. Each module stays a file: `workflows/shared-modules` goes by their paths. */
const WORKFLOW_CODE = [
  "workflows/index",
  "workflows/failure-converter",
  "workflows/payload-converter",
  "workflows/shared-modules",
  "workflows/short-traces",
  "instruments/trace-workflows",
];

/**
 * Packages that stay packages and are imported: what is optional is not there to be bundled, of others a file lies beside the code.
 */
const EXTERNAL = /^(?:@temporalio\/interceptors-|@opentelemetry\/|open$)/;
/** Those that stay packages and are loaded when they are used: Temporal's, and one that is native. */
const STAYS_PACKAGE = /^(?:@temporalio\/|fs-native-extensions$)/;
const require = createRequire(import.meta.url);
const BUILT_IN = new Set(builtinModules);

/** Bundles everything into a directory. */
export async function buildCode(target) {
  const modules = await bundle(target, [...LIBRARY, ...PROGRAMS], (id) => EXTERNAL.test(id), {
    chunkFileNames: "chunks/[name].js",
  });
  await bundle(target, WORKFLOW_CODE, (id) => /^[^./]/.test(id), {
    preserveModules: true,
    preserveModulesRoot: SOURCE,
  });
  await writeFile(join(target, "licenses.txt"), await licensesOf(modules));
}

/** Bundles these modules of src/ into a directory. Gives the paths of all that is in the bundle. */
export async function bundle(target, names, isExternal, output = {}) {
  const made = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, join(SOURCE, `${name}.ts`)])),
    platform: "node",
    external: isExternal,
    makeAbsoluteExternalsRelative: true,
    transform: { define: { "require.main": "undefined" } },
    resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
    plugins: [
      withoutEngines,
      loadedWhenUsed(target),
      // what is not in the bundle is imported, never required: ES modules have no `require`, and one that is made (`createRequire`)
      // needs `import.meta.url`, which a program has not that is bundled into one CommonJS file
      esmExternalRequirePlugin({ external: [/^node:/, ...BUILT_IN] }),
    ],
  });
  const { output: files } = await made.write({
    dir: target,
    format: "esm",
    entryFileNames: "[name].js",
    comments: false,
    ...output,
  });
  await made.close();
  return files.flatMap(({ moduleIds = [] }) => moduleIds);
}

/** gray-matter cuts front matter and nothing else; its own engines bring parsers along, and one that evaluates scripts. */
const withoutEngines = {
  name: "without-engines",
  load: (id) => (id.endsWith("/gray-matter/lib/engines.js") ? "module.exports = {};" : undefined),
};

const WHEN_USED = "\0when-used:";
const REQUIRING = "\0requiring:";
/** CommonJS packages that most commands have no use for. */
const BUNDLED_WHEN_USED = /^(?:semver|yaml|yauzl)$/;

/**
 * Such a package is required when something of it is used for the first time: a command loads what it needs. Temporal's stay packages,
 * for they share what they know with each other. Nor are they imported: Node reads all files of a CommonJS package that is imported once
 * more before one of them runs, for the names of what they export.
 */
const loadedWhenUsed = (target) => ({
  name: "loaded-when-used",
  resolveId(id, importer) {
    if (id.startsWith(REQUIRING)) return id;
    if (importer?.startsWith(REQUIRING)) return { id, external: true };
    if (!STAYS_PACKAGE.test(id) && !BUNDLED_WHEN_USED.test(id)) return undefined;
    return importer?.startsWith(WHEN_USED) ? undefined : `${WHEN_USED}${id}`;
  },
  async load(id) {
    if (id.startsWith(REQUIRING)) return requiring(target, id.slice(REQUIRING.length));
    if (!id.startsWith(WHEN_USED)) return undefined;
    const name = id.slice(WHEN_USED.length);
    const exported = Object.keys(require(name)).map((key) => JSON.stringify(key));
    const loading = STAYS_PACKAGE.test(name)
      ? `require(${JSON.stringify(`${REQUIRING}${name}`)}).load()`
      : `require(${JSON.stringify(name)})`;
    return `let loaded;
const load = () => (loaded ??= ${loading});
${exported.map((key) => `Object.defineProperty(exports, ${key}, { enumerable: true, get: () => load()[${key}] });`).join("\n")}`;
  },
});

/**
 * A module that requires a package from where it lies itself. A program that was bundled with the client in it may lie where no packages
 * are, or not know where it lies (one CommonJS file has no `import.meta.url`): it has the package from a CommonJS file, in which its bundler
 * has seen that it is needed. That file is named as if it were one of src/: so chunks find it from where they lie.
 */
async function requiring(target, name) {
  const file = `packages/${name.replaceAll(/[^\w.]+/g, "-").replaceAll(/^-|\.js$/g, "")}.cjs`;
  await mkdir(join(target, "packages"), { recursive: true });
  await writeFile(join(target, file), `exports.load = () => require(${JSON.stringify(name)});\n`);
  // not by its name: what bundlers of ES modules are told to put above their output declares `createRequire`
  return `import modules from "node:module";
import { load as loadFromFile } from ${JSON.stringify(join(SOURCE, file))};
export function load() {
  try {
    return modules.createRequire(import.meta.url)(${JSON.stringify(name)});
  } catch {
    return loadFromFile();
  }
}`;
}
