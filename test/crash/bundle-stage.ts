import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { InterlockClient, RunHandle } from "../../src/client/client.js";
import type { RunResult } from "../../src/core/run/run-result.js";
import { verifyAuditLog } from "../../src/store/runs/audit-verify.js";
import type { Store } from "../../src/store/store.js";
import { eventually } from "../fakes/eventually.js";
import { readTree } from "../fakes/package-fixture.js";
import { jsonLines, valueOf } from "../fakes/run-world.js";
import { openPlace } from "../fakes/place.js";
import { type ChatRequestBody, type ScriptedAnswer, call } from "../fakes/scripted-model.js";
import type { ArmedBuild } from "./armed-build.js";
import { type Crew, crewOf } from "./crew.js";

/** What the model answers, turn after turn, under call ids that are the same whenever a turn is asked for. */
const TURNS: readonly ScriptedAnswer[] = [
  { calls: [{ ...call("preload_workflow", { workflow_path: "workflows/intake" }), id: "1-0" }] },
  { content: "What are you looking for?" },
  {
    calls: [
      { ...call("save_output", { file_path: "notes/first.md", content: "A quiet book.\n" }), id: "3-0" },
      { ...call("read_file", { file_path: "notes/first.md" }), id: "3-1" },
      { ...call("read_file", { file_path: "../../secret.txt" }), id: "3-2" },
    ],
  },
  {
    calls: [
      { ...call("save_output", { file_path: "notes/first.md", content: "Two quiet books.\n" }), id: "4-0" },
      { ...call("save_output", { file_path: "request.md", content: "Two books.\n" }), id: "4-1" },
    ],
  },
  { content: "Saved.\n\nWORKFLOW COMPLETE" },
];

/** Counted from 1; the runtime's own reads before the first turn look like an answer. */
function turnOf({ messages }: ChatRequestBody): number {
  return messages.filter(({ role }) => role === "assistant").length;
}

/** One bundle run whose worker may be killed: a store, a project, a queue and a model of its own. */
export interface BundleStage extends Crew {
  readonly dir: string;
  readonly client: InterlockClient;
  readonly run: RunHandle;
  /** Everything that can be seen of the ended run, without times and ids of the case. */
  endState(result: RunResult): Promise<unknown>;
  /** How often each turn was asked for, and which of them are written down. */
  requests(): Promise<{ readonly counts: ReadonlyMap<number, number>; readonly written: readonly number[] }>;
  close(): Promise<void>;
}

/**
 * `copyRoom` puts the example bundle into a directory and says what starts a run of it. `answer` goes before the usual
 * answers of the model.
 */
export async function openBundleStage(
  address: string,
  build: ArmedBuild,
  copyRoom: (dir: string) => Promise<{ bundleRoot: string; workflowPath: string }>,
  answer: (request: ChatRequestBody) => ScriptedAnswer | undefined = () => undefined,
): Promise<BundleStage> {
  const place = await openPlace(
    address,
    (request) => answer(request) ?? TURNS[turnOf(request) - 1] ?? { status: 418 },
  );
  const { dir, projectRoot, model, store, client } = place;
  const crew = crewOf(place, build);
  const room = await copyRoom(dir);
  const run = await client.startBundle({ ...room, projectRoot, input: "*intake", storeId: store.storeId });
  const over = new AbortController();
  const answering = answerQuestion(store, run, over.signal);

  async function runDir(): Promise<string> {
    const { projectId } = valueOf(await store.runs.findRun(run.runId));
    return join(store.dir, "projects", projectId, "runs", run.runId);
  }

  return {
    ...crew,
    dir,
    client,
    run,
    async endState(result) {
      const files = await runDir();
      const log = join(files, "state/logs/execution.jsonl");
      const events = await jsonLines(log);
      const seen = {
        result,
        project: await textsIn(projectRoot),
        status: JSON.parse(await readFile(join(files, "status.json"), "utf8")) as unknown,
        index: await store.runs.listAllRuns(),
        audit: events.filter((event) => !isRead(event)),
        auditOfReads: events.filter(isRead).sort((a, b) => idOf(a).localeCompare(idOf(b))),
        auditFindings: (await verifyAuditLog(log, await run.auditHead())).findings,
        conversation: await jsonLines(join(files, "conversation/run.jsonl")),
        lastRequests: Object.fromEntries(
          model.requests.map((request) => [String(turnOf(request)), request.messages]),
        ),
      };
      const text = JSON.stringify(seen, (key, value: unknown) => (TIMES.has(key) ? undefined : value));
      const { projectId } = valueOf(await store.runs.findRun(run.runId));
      const plain = text.replaceAll(run.runId, "RUN").replaceAll(projectId, "PROJECT").replaceAll(dir, "DIR");
      return JSON.parse(plain) as unknown;
    },
    async requests() {
      const counts = new Map<number, number>();
      for (const request of model.requests)
        counts.set(turnOf(request), (counts.get(turnOf(request)) ?? 0) + 1);
      const said = await runDir()
        .then((files) => jsonLines(join(files, "conversation/run.jsonl")))
        .catch(() => []);
      const written = said.flatMap(({ type, turn }) => (type === "assistant" ? [Number(turn)] : []));
      return { counts, written };
    },
    async close() {
      over.abort();
      await crew.end([run]);
      await answering;
      await place.close();
    },
  };
}

/** Reads of one answer run side by side: their events come in any order. */
function isRead(event: Readonly<Record<string, unknown>>): boolean {
  return event["toolName"] === "read_file";
}

function idOf(event: Readonly<Record<string, unknown>>): string {
  return String(event["toolCallId"]);
}

const TIMES: ReadonlySet<string> = new Set([
  "ts",
  "durationMs",
  "createdAt",
  "lastUpdatedAt",
  "updatedAt",
  "completedAt",
  "savedAt",
  "prev", // the hash of a line that has times
]);

/** Files as text; a manifest as what it says, so that its times can be left out. */
async function textsIn(dir: string): Promise<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(await readTree(dir)).map(([path, bytes]) => {
      const text = bytes.toString("utf8");
      return [path, path.endsWith("/manifest.json") ? (JSON.parse(text) as unknown) : text];
    }),
  );
}

/** Answers the run's question as soon as it is asked; the same answer however often it is sent. */
async function answerQuestion(store: Store, run: RunHandle, until: AbortSignal): Promise<void> {
  const isAsked = async () => {
    const known = await store.runs.findRun(run.runId);
    return known.ok && known.value.phase === "waiting-user";
  };
  await eventually(async () => until.aborted || (await isAsked()), 50);
  if (until.aborted) return;
  await run
    .answer({ nodeId: "workflow", text: "A quiet book.", answerId: "answer-1" })
    .catch((error: unknown) => {
      if (!until.aborted) throw error;
    });
}
