// @module-tag slow
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { beforeAll, expect, inject, test } from "vitest";
import { bytesOf, lockedPackages, packagesBeyondTemporal } from "../../bench/installed-size.js";

/**
 * What a program gets that depends on the package: its types hold under `--strict` without `skipLibCheck`, however the program
 * resolves modules, and its values are there for `import` and for `require`.
 */

const ROOT = resolve(import.meta.dirname, "../..");
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");

let project: string;

/** An empty project with the packed package, and of the other packages only what an install would bring. */
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "interlock-consumer-"));
  const modules = join(project, "node_modules");
  await mkdir(modules);
  const npm = ["pack", "--silent", "--ignore-scripts", "--pack-destination", project];
  const { stdout } = await promisify(execFile)("npm", npm, { cwd: ROOT });
  const tarball = stdout.trim().split("\n").at(-1) ?? "";
  await promisify(execFile)("tar", ["-xzf", join(project, tarball), "-C", project]);
  await rename(join(project, "package"), join(modules, "interlock-temporal"));
  for (const [path, { dev, optional }] of Object.entries(await lockedPackages(ROOT))) {
    if (!/^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path) || optional === true) continue;
    if (dev === true && path !== "node_modules/@types/node" && path !== "node_modules/undici-types") continue;
    await mkdir(dirname(join(project, path)), { recursive: true });
    await symlink(join(ROOT, path), join(project, path));
  }
  await writeFile(join(project, "package.json"), JSON.stringify({ type: "module" }));
});

const ES_MODULE = `
import { type ErrorCode, GraphStateSchema, InterlockClient, type RunState, createToolHost } from "interlock-temporal";
import { ERROR_CODES } from "interlock-temporal/core";
import { createMetrics } from "interlock-temporal/instruments";
import { replayHistory } from "interlock-temporal/replay";

export async function phaseOf(runId: string): Promise<RunState["phase"]> {
  const client: InterlockClient = await InterlockClient.connect({ connection: { address: "127.0.0.1:7233" } });
  return (await client.handle(runId).state()).phase;
}
export const codes: readonly ErrorCode[] = ERROR_CODES;
export const values = [GraphStateSchema, InterlockClient, createToolHost, createMetrics, replayHistory];
// @ts-expect-error: types are there, and hold
export const wrong: RunState["phase"] = "no phase";
`;

const COMMON_JS = `
import interlock = require("interlock-temporal");
import { type Budget, InterlockClient, InterlockError } from "interlock-temporal";

export const connect = (): Promise<InterlockClient> => InterlockClient.connect({});
export const isOurs = (error: unknown): error is InterlockError => error instanceof interlock.InterlockError;
// @ts-expect-error: types are there, and hold
export const wrong: Budget = { run: { turns: "many" } };
if (interlock.InterlockClient !== InterlockClient) throw new Error("two packages");
console.log("loaded");
`;

async function compile(file: string, source: string, options: readonly string[]): Promise<string> {
  await writeFile(join(project, file), source);
  const strict = ["--strict", "--skipLibCheck", "false", "--target", "es2023", "--types", "node"];
  try {
    const run = promisify(execFile)(process.execPath, [TSC, ...strict, ...options, file], { cwd: project });
    return (await run).stdout;
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

test.each([
  ["node16", ["--module", "node16"]],
  ["nodenext", ["--module", "nodenext"]],
  ["bundler", ["--module", "esnext", "--moduleResolution", "bundler"]],
])("an ES module has types that hold without skipLibCheck: %s", async (_, options) => {
  await expect(compile("program.ts", ES_MODULE, [...options, "--noEmit"])).resolves.toBe("");
});

test.each(["node16", "nodenext"])("a .cts file has types and values: %s", async (module) => {
  await expect(compile("program.cts", COMMON_JS, ["--module", module])).resolves.toBe("");
  const { stdout } = await promisify(execFile)(process.execPath, ["program.cjs"], { cwd: project });
  expect(stdout).toContain("loaded");
});

test.each([
  ["one CommonJS file", "cjs", { "import.meta.url": "undefined" }],
  ["one ES module", "esm", {}],
] as const)("a program that is bundled into %s runs where no packages are", async (_, format, define) => {
  const source = `
import { InterlockClient } from "interlock-temporal";
const connection = { address: ${JSON.stringify(inject("temporalAddress"))} };
InterlockClient.connect({ connection }).then((client) => client.close()).then(() => console.log("connected"));
`;
  const input = join(project, "bundled-program.mjs");
  await writeFile(input, source);
  // as other bundlers have it: no `import.meta.url` in CommonJS
  const made = await rolldown({ input, platform: "node", transform: { define }, onLog: () => {} });
  const dir = await mkdtemp(join(tmpdir(), "interlock-bundled-"));
  const file = join(dir, format === "cjs" ? "program.cjs" : "program.mjs");
  await made.write({ file, format, codeSplitting: false });
  await made.close();
  const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: dir });
  expect(stdout).toBe("connected\n");
});

/** What of them only the engine itself calls: to name all of that would make it everybody's. */
const ENGINE_OWN = new Set([
  "RunManager",
  "Roots",
  "PackageStore",
  "StoreReader",
  "SealKeys",
  "executeForEngine",
]);

/** A program in which each field and method of what a module exports is an export, whose type the compiler has to say. */
async function restated(name: string, module: string): Promise<readonly string[]> {
  const dist = join(project, "node_modules/interlock-temporal/dist");
  const entry = await readFile(join(dist, `${module}.d.ts`), "utf8");
  const lists = [...entry.matchAll(/^export (?:type )?\{([^}]*)\} from "([^"]+)\.js"/gm)];
  const lines = [
    `import type * as ${name} from "interlock-temporal${module === "index" ? "" : `/${module}`}";`,
  ];
  for (const [, list = "", from = ""] of [...lists, ["", "WorkerOptions,RunningWorker", module]]) {
    const source = await declarationsOf(dist, join(dirname(module), from));
    for (const type of list.split(",").map((each) => each.trim().replace(/^type /, ""))) {
      const [, members] =
        new RegExp(`^export (?:declare class|interface) ${type}\\b[^<{]*\\{\\n(.*?)\\n\\}`, "ms").exec(
          source,
        ) ?? [];
      if (type === "" || members === undefined || ENGINE_OWN.has(type)) continue;
      for (const [, member = ""] of members.matchAll(/^    (?:readonly |get )?(\w+)\??[(:]/gm)) {
        if (member === "constructor" || ENGINE_OWN.has(member)) continue;
        lines.push(`export const ${type}_${member} = (it: ${name}.${type}) => it.${member};`);
      }
    }
  }
  return lines;
}

/** A module's declarations, and those that it hands on from others. */
async function declarationsOf(dist: string, module: string): Promise<string> {
  const text = await readFile(join(dist, `${module}.d.ts`), "utf8");
  const handedOn = [...text.matchAll(/^export (?:type )?\{[^}]*\} from "([^"]+)\.js"/gm)];
  const others = handedOn.map(([, from = ""]) => declarationsOf(dist, join(dirname(module), from)));
  return [text, ...(await Promise.all(others))].join("\n");
}

test("a library with declarations of its own can name what it is given: no type leads into the package's inside", async () => {
  const lines = [...(await restated("root", "index")), ...(await restated("worker", "worker"))];
  expect(lines.length).toBeGreaterThan(250);
  const options = ["--module", "node16", "--declaration", "--outDir", "declared"];
  await expect(compile("library.ts", lines.join("\n"), options)).resolves.toBe("");
});

test("npm corrects nothing in the package when it is published", async () => {
  const manifest = await readFile(join(ROOT, "package.json"), "utf8");
  const dir = await mkdtemp(join(tmpdir(), "interlock-manifest-"));
  await writeFile(join(dir, "package.json"), manifest);
  await promisify(execFile)("npm", ["pkg", "fix"], { cwd: dir });
  expect(await readFile(join(dir, "package.json"), "utf8")).toBe(manifest);
});

test("what is installed beyond Temporal's packages stays under 15 MB", async () => {
  const others = await packagesBeyondTemporal(ROOT);
  expect(others).toContain(join(ROOT, "node_modules/zod"));
  const sizes = await Promise.all([join(project, "node_modules/interlock-temporal"), ...others].map(bytesOf));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(15_000_000);
});
