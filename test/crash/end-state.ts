import { createHash } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { RunHandle } from "../../src/client/client.js";
import type { RunResult } from "../../src/core/run/run-result.js";
import { verifyAuditLog } from "../../src/store/runs/audit-verify.js";
import { parseMarkdown } from "../../src/core/documents/front-matter.js";
import { readTree } from "../fakes/package-fixture.js";
import { jsonLines, namesIn, valueOf } from "../fakes/run-world.js";
import type { CrashStage } from "./crash-stage.js";
import { turnOf } from "./crash-script.js";

type Json = Record<string, unknown>;

/** Everything a user or an operator can see of a run that has ended, without times, durations and ids of the case. */
export async function endStateOf(stage: CrashStage, run: RunHandle, result: RunResult) {
  const dir = await stage.runDir(run);
  if (dir === undefined) throw new Error("The run is in no index.");
  const document = valueOf(parseMarkdown(await readFile(join(dir, "state/workflow.md"))));
  const { updatedAt: _, ...frontmatter } = document.frontmatter;
  const events = (await jsonLines(join(dir, "state/logs/execution.jsonl"))).map(withoutTimes);
  const { findings } = await verifyAuditLog(join(dir, "state/logs/execution.jsonl"), await run.auditHead());
  const index = valueOf(await stage.store.runs.listRuns(stage.projectRoot));
  const seen = {
    result,
    document: { frontmatter, body: Buffer.from(document.body).toString("utf8") },
    project: await hashesIn(stage.projectRoot),
    index: index.map(({ createdAt: _made, lastUpdatedAt: _updated, ...entry }) => entry),
    status: JSON.parse(await readFile(join(dir, "status.json"), "utf8")) as Json,
    names: (await namesIn(stage.store.dir)).filter((name) => !name.includes(".lock")),
    auditFindings: findings,
    audit: events.filter((event) => !isRead(event)),
    auditOfReads: events.filter(isRead).sort((a, b) => idOf(a).localeCompare(idOf(b))),
    calls: await finishedCalls(join(dir, "calls.jsonl")),
    conversations: await conversationsIn(join(dir, "conversation")),
    lastRequests: Object.fromEntries(
      stage.model.requests.map((request) => [turnOf(request), request.messages]),
    ),
  };
  const { projectId } = index[0] ?? { projectId: "" };
  const text = JSON.stringify(seen).replaceAll(run.runId, "RUN").replaceAll(projectId, "PROJECT");
  return JSON.parse(text) as unknown;
}

/** How often each turn was asked for. */
export function requestCounts(stage: CrashStage): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const request of stage.model.requests) {
    counts.set(turnOf(request), (counts.get(turnOf(request)) ?? 0) + 1);
  }
  return counts;
}

/** The turns whose answers are written down, as `requestCounts` names them. */
export async function writtenTurns(stage: CrashStage, run: RunHandle): Promise<readonly string[]> {
  const dir = await stage.runDir(run);
  const names = dir === undefined ? [] : await readdir(join(dir, "conversation"));
  const visits = ["ask", "middle", "finish"];
  const turns: string[] = [];
  for (const name of names) {
    for (const entry of await jsonLines(join(dir ?? "", "conversation", name))) {
      if (entry["type"] === "assistant") {
        turns.push(`${visits[Number(entry["visit"]) - 1]} ${Number(entry["turn"])}`);
      }
    }
  }
  return turns;
}

function isRead(event: Json): boolean {
  return ["fs.read", "fs.list", "fs.search"].includes(String(event["toolName"]));
}

function idOf(event: Json): string {
  return String(event["toolCallId"]);
}

function withoutTimes(event: Json): Json {
  const { ts: _ts, durationMs: _duration, prev: _prev, ...rest } = event;
  return withoutVersions(rest);
}

/** The document's version depends on the run's id and on times. */
function withoutVersions(event: Json): Json {
  const text = JSON.stringify(event);
  if (!text.includes("@state/workflow.md")) return event;
  return JSON.parse(text.replaceAll(/"(sha256\w*)":"[0-9a-f]{64}"/g, '"$1":"…"')) as Json;
}

async function finishedCalls(path: string): Promise<readonly Json[]> {
  const lines = (await jsonLines(path)).filter((line) => line["result"] !== undefined);
  const calls = lines.map(({ state, ...call }) =>
    withoutVersions({ ...call, changedState: state !== undefined }),
  );
  return calls.sort((a, b) => String(a["id"]).localeCompare(String(b["id"])));
}

async function conversationsIn(dir: string): Promise<Json> {
  const names = (await readdir(dir)).sort();
  const entries = await Promise.all(names.map(async (name) => [name, await jsonLines(join(dir, name))]));
  return Object.fromEntries(entries) as Json;
}

async function hashesIn(dir: string): Promise<Record<string, string>> {
  const files = Object.entries(await readTree(dir));
  return Object.fromEntries(
    files.map(([path, bytes]) => [path, createHash("sha256").update(bytes).digest("hex")]),
  );
}
