import { chmod, mkdir, readFile, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { type Statement, startStatement, updateStatement } from "../../src/contract/signed.js";
import { StartSignatures } from "../../src/store/start-signatures.js";
import { openStore } from "../../src/store/store.js";
import { namesListed } from "../fakes/names-listed.js";
import { temporaryDirectory } from "../fakes/package-fixture.js";

async function newStore() {
  const dir = await temporaryDirectory();
  return openStore(dir);
}

const start = startStatement({
  workflow: "graphRun",
  workflowId: "story-7",
  input: { projectRoot: "/srv/shop", packageId: "story", limits: { maxTurnsPerNode: 5 } },
});
const update = updateStatement(
  { update: "answer", workflowId: "story-7", executionId: "e-1", updateId: "u-1", question: "1.2" },
  { nodeId: "ask", text: "Yes." },
);

/** Each as the one it is made from, but for one thing. */
const alteredStarts: readonly Statement[] = [
  { ...start, workflow: "bundleRun" },
  { ...start, workflowId: "story-8" },
  { ...start, runId: "0b5b28b5-9f43-4ec6-9a0c-8d1a41c9a5a1" },
  { ...start, content: { ...start.content, projectRoot: "/srv/other" } },
  { ...start, content: { ...start.content, limits: { maxTurnsPerNode: 6 } } },
  { ...start, content: { ...start.content, input: "" } },
  { ...start, content: { ...start.content, resume: true } },
];
const alteredUpdates: readonly Statement[] = [
  { ...update, update: "budget" },
  { ...update, workflowId: "story-8" },
  { ...update, executionId: "e-2" },
  { ...update, updateId: "u-2" },
  { ...update, question: "1.3" },
  { ...update, question: "12" },
  { ...update, content: { ...update.content, nodeId: "tell" } },
  { ...update, content: { ...update.content, text: "Yes" } },
];

describe("the secret of a store", () => {
  test("is made once, however many open it at the same time, and is private", async () => {
    const store = await newStore();
    const opened = await Promise.all(Array.from({ length: 8 }, () => StartSignatures.open(store)));
    const signature = (await opened[0]?.sign(update)) ?? "";
    const verified = await Promise.all(opened.map((signatures) => signatures.verifies(update, signature)));
    expect(verified).toEqual(Array(8).fill(true));
    const entry = await stat(join(store.dir, "starts.secret"));
    expect(entry.mode & 0o777).toBe(0o600);
    expect((await readdir(store.dir)).filter((name) => name.startsWith(".tmp-"))).toEqual([]);
    const secret = (await readFile(join(store.dir, "starts.secret"), "utf8")).trim();
    expect(inspect(opened[0], { depth: 9, showHidden: true })).not.toContain(secret.slice(0, 8));
    expect(JSON.stringify(opened[0])).not.toContain("secret");
  });

  test("is refused where others can read it, where a link stands, and where it is damaged, without a word of it", async () => {
    const store = await newStore();
    await StartSignatures.open(store);
    const path = join(store.dir, "starts.secret");
    await chmod(path, 0o640);
    await expect(StartSignatures.open(store)).rejects.toThrow(
      /chmod 600 \S+starts\.secret\. Where that changes nothing, .* INTERLOCK_STORE/,
    );
    await chmod(path, 0o600);
    await writeFile(path, "THIS-IS-SHORT");
    await expect(StartSignatures.open(store)).rejects.toThrow("is damaged");
    await expect(StartSignatures.open(store)).rejects.not.toThrow("THIS-IS-SHORT");
    await rm(path);
    await symlink(join(store.dir, "store.json"), path);
    await expect(StartSignatures.open(store)).rejects.toThrow("is a link");
  });

  test("is another one in another store, and what one has signed is nothing to the other", async () => {
    const [one, other] = await Promise.all([newStore(), newStore()]);
    const signature = await (await StartSignatures.open(one)).sign(update);
    expect(await (await StartSignatures.open(other)).verifies(update, signature)).toBe(false);
    // A copy of the secret in a store of another id neither.
    await writeFile(join(other.dir, "starts.secret"), await readFile(join(one.dir, "starts.secret")), {
      mode: 0o600,
    });
    expect(await (await StartSignatures.open(other)).verifies(update, signature)).toBe(false);
  });
});

test("a secret that is exchanged counts at once, for workers and commands that had it open", async () => {
  const store = await newStore();
  const [worker, command] = [await StartSignatures.open(store), await StartSignatures.open(store)];
  const [begun, early] = [await command.sign(start), await command.sign(update)];
  expect(await worker.admits(start, begun, "a")).toBe(true);
  await rm(join(store.dir, "starts.secret"));
  expect(await worker.verifies(update, early)).toBe(false);
  expect(await worker.admits(start, begun, "b")).toBe(false);
  const late = await command.sign(update);
  expect(await worker.verifies(update, late)).toBe(true);
  expect(await worker.admits(start, await command.sign(start), "b")).toBe(true);
});

test("a start that was admitted is known again when the secret was exchanged, and with another input it is not", async () => {
  const store = await newStore();
  const signatures = await StartSignatures.open(store);
  const goesOn = { ...start, content: { ...start.content, resume: true } };
  for (const statement of [start, goesOn]) {
    const signature = await signatures.sign(statement);
    expect(await signatures.admits(statement, signature, "a")).toBe(true);
    await rm(join(store.dir, "starts.secret"));
    expect(await signatures.admits(statement, signature, "a")).toBe(true);
    expect(await signatures.admits(statement, signature, "b")).toBe(false);
    for (const altered of alteredStarts.filter((each) => each.content["resume"] === undefined))
      expect([altered, await signatures.admits(altered, signature, "a")]).toEqual([altered, false]);
  }
});

test("who began a start by an earlier version asks again by the secret that signed it", async () => {
  const store = await newStore();
  const signatures = await StartSignatures.open(store);
  const signature = await signatures.sign(start);
  await mkdir(join(store.dir, "starts"));
  const [, nonce = ""] = signature.split(".");
  await writeFile(join(store.dir, "starts", `${nonce}.json`), '{"executionId":"a"}\n');
  expect(await signatures.admits(start, signature, "a")).toBe(true);
  expect(await signatures.admits(start, signature, "b")).toBe(false);
  expect(await signatures.admits({ ...start, workflowId: "story-8" }, signature, "a")).toBe(false);
  await rm(join(store.dir, "starts.secret"));
  expect(await signatures.admits(start, signature, "a")).toBe(false);
});

describe("a signature", () => {
  test("is that of one statement, to the letter", async () => {
    const store = await newStore();
    const signatures = await StartSignatures.open(store);
    const ofStart = await signatures.sign(start);
    for (const altered of [...alteredStarts, ...alteredUpdates]) {
      expect([altered, await signatures.admits(altered, ofStart, "e")]).toEqual([altered, false]);
    }
    const ofUpdate = await signatures.sign(update);
    for (const altered of [...alteredUpdates, ...alteredStarts]) {
      expect([altered, await signatures.verifies(altered, ofUpdate)]).toEqual([altered, false]);
    }
    expect(await signatures.admits(start, ofStart, "e")).toBe(true);
    expect(await signatures.verifies(update, ofUpdate)).toBe(true);
    expect(await signatures.verifies({ ...update, content: { text: "Yes.", nodeId: "ask" } }, ofUpdate)).toBe(
      true,
    );
  });

  test("of another form, or with a digit altered anywhere, is none", async () => {
    const signatures = await StartSignatures.open(await newStore());
    const good = await signatures.sign(update);
    const digits = good
      .split("")
      .map((char, place) =>
        /[0-9a-f]/.test(char)
          ? good.slice(0, place) + (char === "0" ? "1" : "0") + good.slice(place + 1)
          : `${good}0`,
      );
    const forms = [
      undefined,
      "",
      "v1",
      `${good}\n`,
      ` ${good}`,
      good.toUpperCase(),
      good.replace("v1", "v2"),
      good.slice(0, -1),
    ];
    for (const bad of [...forms, ...digits])
      expect([bad, await signatures.verifies(update, bad)]).toEqual([bad, false]);
  });

  test("of a start is good for one execution, which may ask again", async () => {
    const store = await newStore();
    const signatures = await StartSignatures.open(store);
    const signature = await signatures.sign(start);
    const asked = await Promise.all(["a", "b", "c"].map((id) => signatures.admits(start, signature, id)));
    expect(asked.filter(Boolean)).toHaveLength(1);
    const mine = ["a", "b", "c"][asked.indexOf(true)] ?? "";
    expect(await (await StartSignatures.open(store)).admits(start, signature, mine)).toBe(true);
    expect(await signatures.admits(start, signature, "d")).toBe(false);
    expect(await signatures.admits(start, await signatures.sign(start), "d")).toBe(true);
  });

  test("that started something which cannot be read any more starts nothing", async () => {
    const store = await newStore();
    const signatures = await StartSignatures.open(store);
    const signature = await signatures.sign(start);
    expect(await signatures.admits(start, signature, "a")).toBe(true);
    const [name = ""] = (await readdir(join(store.dir, "starts"))).filter((entry) => entry.endsWith(".json"));
    await writeFile(join(store.dir, "starts", name), "{");
    expect(await signatures.admits(start, signature, "a")).toBe(false);
  });

  test("costs no more when very much was started before", async () => {
    const store = await newStore();
    const signatures = await StartSignatures.open(store);
    const folder = join(store.dir, "starts");
    await mkdir(folder);
    for (let other = 0; other < 500; other += 1) await writeFile(join(folder, `${other}.json`), "{}");
    const signature = await signatures.sign(start);
    const names = await namesListed(() => signatures.admits(start, signature, "e-1"));
    expect(names).toBeLessThan(10);
    expect(await signatures.admits(start, signature, "e-2")).toBe(false);
  });

  test("leaves nothing of an attempt that was cut short", async () => {
    const store = await newStore();
    const signatures = await StartSignatures.open(store);
    const signature = await signatures.sign(start);
    const nonce = signature.split(".")[1] ?? "";
    await mkdir(join(store.dir, "starts", ".new"), { recursive: true });
    await writeFile(join(store.dir, "starts", ".new", `.tmp-${nonce}.json-0123456789ab`), "{");
    expect(await signatures.admits(start, signature, "e-1")).toBe(true);
    expect(await readdir(join(store.dir, "starts", ".new"))).toEqual([]);
  });

  test("a wrong one leaves nothing behind", async () => {
    const store = await newStore();
    const signatures = await StartSignatures.open(store);
    expect(await signatures.admits(start, `v1.${"0".repeat(32)}.${"0".repeat(64)}`, "a")).toBe(false);
    expect(await readdir(store.dir)).not.toContain("starts");
  });
});

test("a run id that follows from the workflow makes no difference to what is signed, and another one does", () => {
  const runId = "0b5b28b5-9f43-4ec6-9a0c-8d1a41c9a5a1";
  const of = (workflowId: string, input: object, executionId?: string) =>
    startStatement({
      workflow: "graphRun",
      workflowId,
      input,
      ...(executionId === undefined ? {} : { executionId }),
    });
  expect(of(`run-${runId}`, { runId })).toEqual(of(`run-${runId}`, {}));
  expect(of("story-7", { runId }, runId)).toEqual(of("story-7", {}));
  expect(of("story-7", { runId }, "another")).toMatchObject({ runId });
});
