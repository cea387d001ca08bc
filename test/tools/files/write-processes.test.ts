import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { unprivileged } from "../../fakes/unprivileged.js";
import { compileForChildren } from "../compiled.js";
import { Scratch, sha256, snapshot } from "../scratch.js";

/** A process that makes one call, prints its result, and says how many descriptors it left open. */
const CHILD = `
import { readdirSync } from "node:fs";
import { openWorkspace } from "./tools/sandbox/workspace.js";
import { writeFile } from "./tools/files/write.js";
const { options, args, dieBeforeCommit, gate, uid } = JSON.parse(process.argv[2]);
if (uid !== undefined) process.setuid(uid);
const workspace = openWorkspace(options);
const open = () => readdirSync("/proc/self/fd").length;
if (gate) await new Promise((resolve) => process.stdin.once("data", resolve));
const before = open();
const hooks = dieBeforeCommit ? { beforeCommit: async () => process.kill(process.pid, "SIGKILL") } : {};
const result = await writeFile(workspace, args, { maxWriteBytes: 10_000_000 }, hooks);
console.log(JSON.stringify({ result, leaked: open() - before }));
process.exit(0);
`;

let compiled: ReturnType<typeof compileForChildren>;
let scratch: Scratch;
beforeAll(() => {
  compiled = compileForChildren("src/tools/files/write.ts");
  writeFileSync(join(compiled.directory, "child.js"), CHILD);
});
afterAll(() => compiled.remove());
beforeEach(() => {
  scratch = new Scratch();
});
afterEach(() => scratch.finish());

interface ChildResult {
  readonly code: string | undefined;
  readonly message: string;
  readonly leaked: number;
}

function start(call: object, limits = "") {
  const task = JSON.stringify({ options: scratch.options, ...call });
  const command = `${limits} exec "$0" "$1" "$2"`;
  const child = spawn("sh", ["-c", command, process.execPath, join(compiled.directory, "child.js"), task], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => (output += String(chunk)));
  const result = once(child, "close").then((): ChildResult | undefined => {
    if (output === "") return undefined;
    const { result, leaked } = JSON.parse(output) as {
      result: { ok: boolean; error?: { code: string; message: string } };
      leaked: number;
    };
    return { code: result.error?.code, message: result.error?.message ?? "", leaked };
  });
  return { child, result };
}

describe.runIf(process.platform === "linux")("fs.write in processes of their own", () => {
  test("a file without write permission is not replaced, for a user without special rights", async () => {
    scratch.put("project/f", "old");
    chmodSync(scratch.at("project/f"), 0o444);
    const { uid } = unprivileged(scratch.base);
    const denied = await start({ args: { path: "@project/f", content: "new" }, uid }).result;
    expect(denied?.code).toBe("E_SANDBOX_VIOLATION");
    expect(scratch.text("project/f")).toBe("old");
    const allowed = await start({ args: { path: "@project/g", content: "new" }, uid }).result;
    expect(allowed).toMatchObject({ message: "", leaked: 0 });
  });

  test("of eight processes with the same ifMatchSha256 one wins", async () => {
    scratch.put("project/f", "old");
    const writers = Array.from({ length: 8 }, (_, index) =>
      start({
        gate: true,
        args: { path: "@project/f", content: `new ${index}`, ifMatchSha256: sha256("old") },
      }),
    );
    for (const { child } of writers) child.stdin.end("go");
    const codes = (await Promise.all(writers.map(({ result }) => result))).map((result) => result?.code);
    expect(codes.filter((code) => code === undefined)).toHaveLength(1);
    expect(codes.filter((code) => code === "E_PRECONDITION_FAILED")).toHaveLength(7);
    expect(scratch.text("project/f")).toBe(`new ${codes.indexOf(undefined)}`);
  });

  test("what a killed writer left is removed by the next one", async () => {
    scratch.put("project/a/f", "old");
    const args = { path: "@project/a/f", content: "new" };
    expect(await start({ args, dieBeforeCommit: true }).result).toBeUndefined();
    expect(readdirSync(scratch.at("project/a"))).toHaveLength(2);
    expect(scratch.text("project/a/f")).toBe("old");
    expect(await start({ args }).result).toMatchObject({ code: undefined });
    expect(readdirSync(scratch.at("project/a"))).toEqual(["f"]);
    expect(scratch.text("project/a/f")).toBe("new");
  });

  test("a file that the system does not take is not half written: the old bytes stay", async () => {
    scratch.put("project/f", "old");
    const before = snapshot(scratch.at("project"));
    for (const path of ["@project/f", "@project/new/g"]) {
      const { result } = start({ args: { path, content: "x".repeat(100_000) } }, "ulimit -f 8;");
      expect(await result).toMatchObject({
        code: "E_WRITE_LIMIT",
        message: expect.stringMatching(/was not written/u),
        leaked: 0,
      });
    }
    expect(snapshot(scratch.at("project"))).toBe(before);
  });

  test("when descriptors run out on the way, nothing is left behind", async () => {
    const path = `@project/${"d/".repeat(200)}f`;
    const { result } = start({ args: { path, content: "x" } }, "ulimit -n 100;");
    expect(await result).toMatchObject({
      code: "E_INTERNAL",
      message: expect.stringMatching(/out of resources/u),
      leaked: 0,
    });
    expect(readdirSync(scratch.at("project"))).toEqual([]);
  });
});
