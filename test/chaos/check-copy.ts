import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { listFolder } from "../../src/store/runs/run-archive.js";
import { verifyAuditLog } from "../../src/store/runs/audit-verify.js";
import type { RunMetadata } from "../../src/store/runs/run-metadata.js";
import { type Store, openStore } from "../../src/store/store.js";
import { type Finding, compareLists, lost } from "./finding.js";
import { jsonLines } from "./check-records.js";

/** Calls whose results are written down before the audit log says so: of those that only read, both are written side by side. */
const CHANGING: ReadonlySet<string> = new Set(["fs.write", "fs.apply_patch", "save_output"]);

/** Checks a store that was restored from a backup which was taken while runs went on: each run is whole, as it stood at one moment. */
export async function checkCopy(dir: string): Promise<readonly Finding[]> {
  const store = await openStore(dir);
  const installed = new Set((await store.packages.list()).map(({ packageId }) => packageId));
  const findings: Finding[] = [];
  for (const run of await store.runs.listAllRuns()) {
    findings.push(
      ...(await checkRun(store, run).catch((error: unknown) => [
        lost(`the restored run ${run.runId} cannot be read: ${String(error)}`),
      ])),
    );
    if (!isOfBundle(run) && !installed.has(run.packageId))
      findings.push(lost(`the restored run ${run.runId} is of ${run.packageId}, which is not restored.`));
  }
  return findings;
}

/** Compares each file of each run of a store with those of its copy. Nothing may be at work on the store any more. */
export async function compareCopy(storeDir: string, dir: string): Promise<readonly Finding[]> {
  const [store, copy] = [await openStore(storeDir), await openStore(dir)];
  const [runs, copied] = [await store.runs.listAllRuns(), await copy.runs.listAllRuns()];
  const findings = [...compareLists("restored runs", idsOf(copied), idsOf(runs), "any order")];
  for (const { projectId, runId } of runs) {
    const place = join("projects", projectId, "runs", runId);
    const [own, others] = [await contents(join(storeDir, place)), await contents(join(dir, place))];
    findings.push(...compareLists(`files of the restored run ${runId}`, others, own, "any order"));
  }
  return findings;
}

function isOfBundle({ packageId }: RunMetadata): boolean {
  return packageId.startsWith("bundle:");
}

async function checkRun(store: Store, run: RunMetadata): Promise<readonly Finding[]> {
  const { projectId, runId } = run;
  const opened = await store.runs.openFiles(projectId, runId);
  if (!opened.ok) return [lost(`the restored run ${runId} has no files: ${opened.error.message}`)];
  const files = opened.value;
  const audit = await verifyAuditLog(files.logFile, undefined);
  // A full disk leaves a line unended, which whoever writes the next one repairs.
  const unended = (await readFile(files.logFile, "utf8").catch(() => "\n")).endsWith("\n") ? 0 : audit.lines;
  const findings = audit.findings
    .filter(({ line }) => line !== unended)
    .map(({ line, message }) => lost(`the restored run ${runId}, line ${line} of its audit log: ${message}`));
  const lines = await jsonLines(files.logFile);
  if (lines.length === 0) return findings; // it was made, and nobody had begun it
  const of = (kind: string) => lines.filter((line) => line["kind"] === kind).length;
  const status = await files.status.read();
  const turns = status?.usage.modelTurns ?? 0;
  if (turns > of("model.turn"))
    findings.push(
      lost(`the restored run ${runId} has had ${turns} turns, and its audit log ${of("model.turn")}.`),
    );
  const journal = await jsonLines(join(files.dir, "calls.jsonl"));
  const recorded = new Set(journal.flatMap(({ id, result }) => (result === undefined ? [] : [id])));
  for (const { kind, toolName, toolCallId } of lines) {
    if (kind !== "tool.exec" || !CHANGING.has(String(toolName)) || recorded.has(toolCallId)) continue;
    const sentence = `the restored run ${runId} has the call ${String(toolCallId)} in its audit log, and no result of it.`;
    findings.push(lost(sentence));
  }
  const newest = isOfBundle(run) ? undefined : (await files.boundaries.all()).at(-1);
  if (newest !== undefined) files.boundaries.documentAt(newest.visit);
  return findings;
}

function idsOf(runs: readonly RunMetadata[]): readonly string[] {
  return runs.map(({ runId }) => runId);
}

/** Each file with what it holds. */
async function contents(dir: string): Promise<readonly string[]> {
  const found = (await listFolder(dir)).filter(({ name }) => !/\.lock(\.|$)|\.index$|^live\//.test(name));
  return Promise.all(
    found.map(async ({ name }) => `${name} ${(await readFile(join(dir, name))).toString("base64")}`),
  );
}
