import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryDirectory as testFolder } from "../fakes/package-fixture.js";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

export async function temporaryDirectory(): Promise<string> {
  return realpath(await testFolder());
}

/** A program named like the Temporal CLI that knows one thing only: to say a version. */
export async function fakeCli(path: string, output: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\ncat <<'TEXT'\n${output}\nTEXT\n`);
  await chmod(path, 0o755);
  return path;
}

export function versionLine(version: string): string {
  return `temporal version ${version} (Server 1.32.0, UI 2.54.1)`;
}

/**
 * Compiles src/embedded to a place from which `node` can run it, for tests that need processes of their own.
 * Returns the directory of the compiled files; `remove` deletes it.
 */
export async function compileEmbedded(): Promise<{ directory: string; remove: () => Promise<void> }> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "interlock-compiled-")));
  await symlink(join(ROOT, "node_modules"), join(directory, "node_modules"));
  const config = {
    extends: join(ROOT, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      noEmitOnError: true,
      noCheck: true,
      rootDir: join(ROOT, "src"),
      outDir: join(directory, "dist"),
    },
    include: [],
    files: [
      join(ROOT, "src/embedded/server.ts"),
      join(ROOT, "src/embedded/gate-main.ts"),
      join(ROOT, "src/fs-native-extensions.d.ts"),
    ],
  };
  await writeFile(join(directory, "tsconfig.json"), JSON.stringify(config));
  await writeFile(join(directory, "package.json"), JSON.stringify({ type: "module" }));
  await promisify(execFile)(process.execPath, [
    join(ROOT, "node_modules/typescript/bin/tsc"),
    "-p",
    join(directory, "tsconfig.json"),
  ]);
  return {
    directory: join(directory, "dist", "embedded"),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}
