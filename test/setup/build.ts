import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** The workflow bundle of the build, which a build writes last. */
export const BUILT_WORKFLOWS = join(ROOT, "dist/workflow-bundle.cjs");
/** What a build is made of. */
const SOURCES = [
  "src",
  "scripts/build.mjs",
  "scripts/build-page.mjs",
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.build.json",
];

/** Builds, unless nothing has changed since the last build: `npm cit` has just built. */
export function buildIfChanged(): void {
  if (isBuilt()) return;
  execFileSync(process.execPath, [join(ROOT, "scripts/build.mjs")], { stdio: "inherit" });
}

function isBuilt(): boolean {
  if (!existsSync(BUILT_WORKFLOWS)) return false;
  const builtAt = statSync(BUILT_WORKFLOWS).mtimeMs;
  return SOURCES.every((source) => lastChange(join(ROOT, source)) < builtAt);
}

/** Of a file, or of all below a folder; a folder tells when a file of it went. */
function lastChange(path: string): number {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(stats.mtimeMs, ...readdirSync(path).map((name) => lastChange(join(path, name))));
}

/** Writes the workflow bundle without its source map into a folder and returns its path: each worker that starts reads it. */
export async function slimWorkflowBundle(folder: string): Promise<string> {
  const path = join(folder, "workflow-bundle.cjs");
  await writeFile(path, withoutSourceMap(await readFile(BUILT_WORKFLOWS, "utf8")));
  return path;
}

/** Two thirds of it, which only stack traces need; Temporal insists on there being one. */
export function withoutSourceMap(code: string): string {
  const empty = { version: 3, file: "workflow-bundle.js", sources: [], names: [], mappings: "" };
  const url = `data:application/json;base64,${Buffer.from(JSON.stringify(empty)).toString("base64")}`;
  return `${code.slice(0, code.lastIndexOf("//# sourceMappingURL="))}//# sourceMappingURL=${url}`;
}
