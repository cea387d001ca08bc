import { randomBytes } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { InterlockClient, type RunHandle } from "../../src/client/client.js";
import { replayHistory } from "../../src/replay.js";
import { dataConverterFor } from "../../src/seal/data-converter.js";
import { parseSealKeys } from "../../src/seal/seal-keys.js";
import { type EarlyServer, startEarlyServer } from "../fakes/early-server.js";
import { eventually } from "../fakes/eventually.js";
import { call, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { type Bench, openBench, until } from "./harness.js";
import { jsonOf, shellOf } from "./shell.js";

const key = (id: string): string => `${id}:${randomBytes(32).toString("base64")}`;
const KEYS = { first: key("k1"), second: key("k2"), otherFirst: key("k1") };

let server: EarlyServer;
beforeAll(async () => {
  server = await startEarlyServer(inject("cacheDir"));
});
afterAll(() => server.close());

/** What nobody but the store and its people should read, each in another place of a run. */
const CANARIES = [
  "canary-words",
  "canary-question",
  "canary-answer",
  "canary-answerer",
  "canary-artifact",
  "canary-content",
  "canary-node",
  "canary-title",
  "canary-variable",
  "canary-failure",
  "canary-agent",
  "canary-package",
  "canary-workflow",
  "canary-refused",
];

function canaryPackage(prefix: string): Record<string, string> {
  const files = Object.entries(twoNodePackage()).map(([path, text]) => [
    path,
    text
      .replaceAll('"ask"', `"${prefix}canary-node"`)
      .replaceAll("nodeId: ask", `nodeId: ${prefix}canary-node`)
      .replaceAll(
        '"type":"step","file":"steps/ask.md"',
        `"type":"step","title":"${prefix}canary-title","file":"steps/ask.md"`,
      )
      .replaceAll('"author"', `"${prefix}canary-agent"`)
      .replaceAll('"name":"two-nodes"', `"name":"${prefix}canary-package"`)
      .replaceAll("workflowType: two-nodes", `workflowType: ${prefix}canary-workflow`),
  ]);
  return Object.fromEntries(files) as Record<string, string>;
}

/** A run with words, questions, refusals, a failed call of the model, pauses, a budget and a new execution for its length. */
async function eventfulRun(bench: Bench, prefix: string): Promise<RunHandle> {
  const run = await bench.start(canaryPackage(prefix), {
    input: `${prefix}canary-words`,
    budget: { run: { turns: 3 } },
  });
  await until(run, "waiting-user");
  await run.answer({
    nodeId: `${prefix}canary-node`,
    text: `${prefix}canary-answer`,
    by: `${prefix}canary-answerer`,
  });
  await eventually(async () => (await run.state()).question?.code === "BUDGET_EXCEEDED");
  await run.pause();
  await run.resume();
  await run.raiseBudget({ add: { turns: 40 } });
  return run;
}

/** Its last question is answered, and the model then refuses it for good. */
async function answerAgain(run: RunHandle, prefix: string): Promise<void> {
  await eventually(async () => (await run.state()).question?.text.includes("again") === true);
  await run.answer({ nodeId: `${prefix}canary-node`, text: `${prefix}canary-answer` });
  await expect(run.result()).rejects.toThrow(`${prefix}canary-failure`);
}

/** As long as it takes for the server to suggest a new execution; the failing call comes before that. */
function eventfulScript(prefix: string) {
  const look = { calls: Array.from({ length: 8 }, () => call("fs_list", { path: "@pkg" })) };
  return [
    {
      calls: [
        call("fs_write", {
          path: `@project/artifacts/${prefix}canary-artifact.md`,
          content: `${prefix}canary-content`,
        }),
      ],
    },
    { content: `${prefix}canary-question?` },
    { calls: [patch({ variables: { set: { said: `${prefix}canary-variable` } } })] },
    { status: 500, body: { error: { message: `${prefix}canary-failure` } } },
    { calls: [patch({ currentNodeId: { set: `${prefix}canary-refused` } })] },
    ...Array.from({ length: 14 }, () => look),
    { content: `${prefix}canary-question again?` },
    { status: 401, body: { error: { message: `${prefix}canary-failure` } } },
  ];
}

/** All bytes that the server has written down: its database with what is not yet in it, and its log. */
async function serverBytes(): Promise<Buffer> {
  const names = (await readdir(server.dir)).filter((name) => /^temporal(?:\.db|-server\.log)/.test(name));
  return Buffer.concat(await Promise.all(names.map((name) => readFile(join(server.dir, name)))));
}

const sealed = (keys: string) => ({ TEMPORAL_ADDRESS: server.address, INTERLOCK_SEAL_KEYS: keys });

test("the server's database holds nothing of what a sealed run says, and all of what an open one says", async () => {
  const found = async (prefix: string) => {
    const bytes = await serverBytes();
    return CANARIES.filter((canary) => bytes.includes(`${prefix}${canary}`));
  };
  const open = await openBench(eventfulScript("open-"), { TEMPORAL_ADDRESS: server.address });
  const plain = await eventfulRun(open, "open-");
  await answerAgain(plain, "open-");

  const bench = await openBench(eventfulScript("shut-"), sealed(KEYS.first));
  const run = await eventfulRun(bench, "shut-");
  await eventually(async () => (await run.state()).question?.text.includes("again") === true);
  expect(await run.histories()).not.toHaveLength(1); // it has continued as new
  const shell = shellOf(bench);
  for (const args of [
    ["status", run.runId],
    ["transcript", run.runId],
    ["artifacts", run.runId],
    ["runs"],
    ["inbox"],
    ["stores"],
  ]) {
    expect([args, await shell.run(args)]).toMatchObject([args, { code: 0 }]);
  }
  await answerAgain(run, "shut-");
  const unseen = ["canary-content"]; // no file's content is in a history
  expect(await found("open-")).toEqual(CANARIES.filter((canary) => !unseen.includes(canary)));
  expect(await found("shut-")).toEqual([]);
});
