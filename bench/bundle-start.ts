import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve, sep } from "node:path";
import { BUNDLE_FUNCTION_TOOLS } from "../src/core/bundle/bundle-tools.js";
import type { Result } from "../src/core/errors.js";
import type { JsonValue } from "../src/core/json.js";
import { type Store, openStore } from "../src/store/store.js";
import { findBundleFiles, findRoots } from "../src/tools/bundle/bundle-discovery.js";
import { type BundleHost, createBundleHost } from "../src/tools/bundle/bundle-host.js";
import { WrongUsage, commandLine, lookedUp, positionals } from "./usage.js";

/**
 * What it takes a bundle run to get to its first step: model round trips and prompt tokens, preloaded and with the same
 * files read one call at a time. Counted, not timed: no model is asked. A token counts as four characters of the request
 * as it is sent, and every request up to the one that begins step 1 counts.
 */

interface Start {
  readonly roundTrips: number;
  readonly promptTokens: number;
}

interface Pair {
  readonly workflow: string;
  readonly files: number;
  readonly preloaded: Start;
  readonly oneByOne: Start;
}

type Call = { readonly name: string; readonly argumentsJson: string };

async function main(files: readonly string[]): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "interlock-bench-"));
  try {
    const store = await openStore(join(dir, "store"));
    const host = createBundleHost({ store });
    const project = join(dir, "project");
    await mkdir(project);
    const pairs: Pair[] = [];
    for (const file of files) pairs.push(await measure(store, host, project, file));
    print(pairs);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** The workflows below a directory. Throws `WrongUsage` where there is none. */
async function workflowsIn(directory: string): Promise<readonly string[]> {
  const { workflows } = await findBundleFiles(resolve(directory));
  if (workflows.length === 0) {
    throw new WrongUsage(
      `${directory} holds no workflow of a bundle. Name a directory such as examples/reading-room.`,
    );
  }
  return workflows;
}

async function measure(store: Store, host: BundleHost, projectRoot: string, file: string): Promise<Pair> {
  const roots = await findRoots(file);
  unwrap(await store.roots.add(projectRoot, "write"));
  for (const root of [roots.bundleRoot, ...(roots.coreRoot === undefined ? [] : [roots.coreRoot])]) {
    unwrap(await store.roots.add(root, "read"));
  }
  const workflowPath = `{bundle-root}/${relative(roots.bundleRoot, file).split(sep).join("/")}`;
  const run = unwrap(
    await store.runs.createBundleRun({
      projectRoot,
      ...roots,
      workflowPath,
      workflowRef: workflowPath,
      activeAgentId: "bench",
    }),
  );
  const now = new Date();
  unwrap(await host.openSession(run.runId, { now }));
  const begin = unwrap(await host.begin(run.runId, { intent: "start", autopilot: false, yolo: false, now }));
  let calls = 0;
  const execute = async ({ name, argumentsJson }: Call): Promise<Readonly<Record<string, JsonValue>>> => {
    calls += 1;
    const request = {
      toolCallId: `c${calls}`,
      name,
      argumentsJson,
      context: { runId: run.runId, agentId: "bench" },
    };
    return { ...(await host.executeForEngine(request)).result };
  };
  const preload = {
    name: "preload_workflow",
    argumentsJson: JSON.stringify({ workflow_path: workflowPath }),
  };
  const loaded = (await execute(preload))["filesLoaded"];
  const files = Array.isArray(loaded) ? loaded.map(String) : [];
  const reads = files.map((path) => ({
    name: "read_file",
    argumentsJson: JSON.stringify({ file_path: path }),
  }));
  return {
    workflow: workflowPath,
    files: files.length,
    preloaded: await count(begin.messages, [preload], execute),
    oneByOne: await count(begin.messages, reads, execute),
  };
}

/** Sends one call per answer and counts every request, the last one being that which begins step 1. */
async function count(
  beginning: readonly object[],
  calls: readonly Call[],
  execute: (call: Call) => Promise<object>,
): Promise<Start> {
  const messages: object[] = [...beginning];
  const size = () => JSON.stringify({ model: "m", messages, tools: BUNDLE_FUNCTION_TOOLS }).length;
  let chars = size();
  for (const [index, call] of calls.entries()) {
    const id = `call_${index}`;
    const request = { name: call.name, arguments: call.argumentsJson };
    messages.push({
      role: "assistant",
      content: "",
      tool_calls: [{ id, type: "function", function: request }],
    });
    messages.push({ role: "tool", tool_call_id: id, content: JSON.stringify(await execute(call)) });
    chars += size();
  }
  return { roundTrips: calls.length, promptTokens: Math.round(chars / 4) };
}

function print(pairs: readonly Pair[]): void {
  const lines = pairs.map(
    ({ workflow, files, preloaded, oneByOne }) =>
      `${workflow}  ${files} files  ${oneByOne.roundTrips} -> ${preloaded.roundTrips} round trips  ${oneByOne.promptTokens} -> ${preloaded.promptTokens} tokens (${share(preloaded, oneByOne)})`,
  );
  const sum = (pick: (pair: Pair) => number) => pairs.reduce((total, pair) => total + pick(pair), 0);
  const all = sum((pair) => pair.preloaded.promptTokens) / sum((pair) => pair.oneByOne.promptTokens);
  const trips = sum((pair) => pair.oneByOne.roundTrips) / pairs.length;
  lines.push(
    `${pairs.length} workflows: ${trips.toFixed(1)} -> 1 round trips, ${(all * 100).toFixed(0)} % of the prompt tokens`,
  );
  process.stdout.write(`${lines.join("\n")}\n`);
}

function share(one: Start, other: Start): string {
  return `${((one.promptTokens / other.promptTokens) * 100).toFixed(0)} %`;
}

function unwrap<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

const USAGE = "Usage: npm run bench:bundles -- [directory with bundles …]    (examples/reading-room)";
const directories = commandLine(USAGE, (args) => {
  const given = positionals(args);
  const missing = given.find((path) => !existsSync(path));
  if (missing !== undefined) throw new WrongUsage(`${missing} does not exist.`);
  return given;
});
const found = await lookedUp(USAGE, () =>
  Promise.all((directories.length > 0 ? directories : ["examples/reading-room"]).map(workflowsIn)),
);
await main(found.flat());
