import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Context } from "@temporalio/activity";
import { graphHarness, bundleHarness } from "../src/activities/agent-harness.js";
import { modelTurn, newTurnMemory } from "../src/activities/model-turn.js";
import { openRun } from "../src/activities/open-run.js";
import { runTool } from "../src/activities/run-tool.js";
import { estimateTokens } from "../src/core/run/token-estimate.js";
import type { ChatAnswer, ChatModel, ChatRequest } from "../src/model/chat.js";
import { dialectOf } from "../src/model/dialects.js";
import { toBody } from "../src/model/to-request.js";
import { commandLine, count, positionals } from "./usage.js";
import { openStore } from "../src/store/store.js";
import { createBundleHost } from "../src/tools/bundle/bundle-host.js";
import { createToolHost } from "../src/tools/graph/tool-host.js";
import { writeWalkPackage } from "./walk-package.js";

/**
 * What a long node sends: so many turns that each read another file of so many kilobytes, with a context of so many tokens.
 * Counted, not timed, by the bodies of the requests; a token counts as the engine estimates it. Without a server of Temporal:
 * the activities are called one after the other.
 *
 * Usage: npm run bench:conversation -- [turns] [kilobytes] [contextTokens]
 */

const RUN_ID = "11111111-2222-4333-8444-555555555555";
const LINE = "A line of a file that is read, of sixty-four characters in all.\n";
const URL_OF_MODEL = new URL("http://127.0.0.1:9/v1/chat/completions");

/** Reads the next file each time; keeps the body of each request as it would be sent. */
class Reader implements ChatModel {
  readonly bodies: string[] = [];

  complete(request: ChatRequest): Promise<ChatAnswer> {
    const { messages } = toBody(request, {
      endpoint: URL_OF_MODEL.href,
      dialect: dialectOf(URL_OF_MODEL, "openai"),
    });
    this.bodies.push(JSON.stringify({ tools: request.tools, messages }).slice(0, -2)); // open at its end
    const turn = this.bodies.length;
    const argumentsJson = JSON.stringify({ path: `@project/src/file-${turn}.ts` });
    return Promise.resolve({
      content: "",
      toolCalls: [{ id: `call_${turn}`, name: "fs_read", argumentsJson }],
      finishReason: "tool_calls",
      usage: { promptTokens: 0, completionTokens: 0 },
      model: "reader",
    });
  }
}

async function main(turns: number, kilobytes: number, contextTokens: number): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "interlock-bench-"));
  try {
    const model = new Reader();
    await walk(dir, model, { turns, kilobytes, contextTokens });
    print(model.bodies, { turns, kilobytes, contextTokens });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

interface Sizes {
  readonly turns: number;
  readonly kilobytes: number;
  readonly contextTokens: number;
}

async function walk(
  dir: string,
  model: ChatModel,
  { turns, kilobytes, contextTokens }: Sizes,
): Promise<void> {
  const store = await openStore(join(dir, "store"));
  const projectRoot = join(dir, "project");
  await mkdir(join(projectRoot, "src"), { recursive: true });
  for (let file = 1; file <= turns; file += 1) {
    const text = LINE.repeat((kilobytes * 1_024) / LINE.length);
    await writeFile(join(projectRoot, `src/file-${file}.ts`), text);
  }
  await store.roots.add(projectRoot, "write");
  await writeWalkPackage(join(dir, "package"), 2);
  const installed = await store.packages.install(join(dir, "package"));
  if (!installed.ok) throw new Error(installed.error.message);
  const { packageId } = installed.value;
  const bundles = createBundleHost({ store });
  const toolHost = createToolHost({ store });
  const input = { runId: RUN_ID, projectRoot, packageId };
  const { run } = await openRun({ store, bundles }, { kind: "graph", input });
  const files = await store.runs.openFiles(run.projectId, RUN_ID);
  if (!files.ok) throw new Error(files.error.message);
  const settings = { model: "reader", stream: false, timeoutMs: 10_000, contextTokens };
  const harnesses = { graph: graphHarness(store, toolHost), bundle: bundleHarness(bundles) };
  const deps = { harnesses, model, memory: newTurnMemory(), modelSettingsFor: async () => settings };
  const info = { startToCloseTimeoutMs: 600_000 };
  const context = { cancellationSignal: new AbortController().signal, info } as Context; // all that is asked of it
  const where = { run, conversation: "visit-1", nodeId: "node-001", agentId: "walker" };
  for (let turn = 1; turn <= turns; turn += 1) {
    const asked = { ...where, visit: 1, turn, intent: "start", autopilot: false } as const;
    const { calls } = await modelTurn(deps, files.value, asked, context);
    for (const { id } of calls) {
      const now = new Date().toISOString();
      await runTool({ store, toolHost, bundles }, { ...where, callId: id, stateSha256: "", now });
    }
  }
}

function print(bodies: readonly string[], { turns, kilobytes, contextTokens }: Sizes): void {
  const tokens = bodies.map(estimateTokens);
  const shared = bodies.slice(1).map((body, index) => sharedChars(bodies[index] ?? "", body));
  const whole = shared.filter((chars, index) => chars === bodies[index]?.length).length;
  const sent = bodies.slice(1).reduce((sum, body) => sum + body.length, 0);
  const rows = [
    ["largest request", `${Math.max(...tokens)} tokens`],
    ["last request", `${tokens.at(-1) ?? 0} tokens`],
    ["all requests", `${tokens.reduce((sum, count) => sum + count, 0)} tokens`],
    ["requests that begin as the one before them, whole", `${whole} of ${shared.length}`],
    [
      "bytes that are those of the request before, from the beginning",
      `${((100 * shared.reduce((sum, chars) => sum + chars, 0)) / sent).toFixed(0)} %`,
    ],
  ];
  process.stdout.write(`${turns} turns that read ${kilobytes} KB each, context of ${contextTokens} tokens\n`);
  for (const [name, value] of rows) process.stdout.write(`  ${name}: ${value}\n`);
  if (Math.max(...tokens) >= contextTokens) process.exitCode = 1;
}

function sharedChars(before: string, body: string): number {
  let at = 0;
  while (at < before.length && before[at] === body[at]) at += 1;
  return at;
}

const USAGE =
  "Usage: npm run bench:conversation -- [turns] [kilobytes] [contextTokens]    (100, 20 and 32000)";
const { turns, kilobytes, contextTokens } = commandLine(USAGE, (args) => {
  const [first = "100", second = "20", third = "32000"] = positionals(args, 3);
  return {
    turns: count(first, "[turns]", 1, 10_000),
    kilobytes: count(second, "[kilobytes]"),
    contextTokens: count(third, "[contextTokens]", 1, 10_000_000),
  };
});
await main(turns, kilobytes, contextTokens);
