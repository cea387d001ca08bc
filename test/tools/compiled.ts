import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Compiles modules of `src` for tests that need a process of their own; the caller removes them. */
export function compileForChildren(...modules: readonly string[]): { directory: string; remove: () => void } {
  const cache = join(root, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const directory = mkdtempSync(join(cache, "interlock-"));
  writeFileSync(join(directory, "package.json"), '{ "type": "module" }');
  const config = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      rootDir: join(root, "src"),
      outDir: directory,
      typeRoots: [join(root, "node_modules/@types")],
    },
    include: [],
    files: ["src/fs-native-extensions.d.ts", ...modules].map((module) => join(root, module)),
  };
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify(config));
  execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", directory], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}
