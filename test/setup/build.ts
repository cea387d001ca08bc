import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** The workflow bundle of the build, which a build writes last. */
export const BUILT_WORKFLOWS = join(ROOT, "dist/workflow-bundle.cjs");
/** What a build is made of. */
const SOURCES = ["src", "scripts", "package-lock.json", "tsconfig.json", "tsconfig.build.json"];

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
