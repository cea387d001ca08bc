import type { RunFacts, StoreReader, StoredRun } from "../../contract/reads.js";
import { defined } from "../../core/defined.js";
import { MAX_SUBWORKFLOW_DEPTH } from "../../core/package/engine-nodes.js";
import type { RunStatus } from "../../store/runs/status-file.js";
import type { RunReport } from "./run-report.js";
import { isOverPhase } from "../../core/run/phase.js";

/** The run below that an open run waits for, and what a person is asked in it or below it, as the store's files say. Undefined where it waits for none. */
export async function belowInStore(
  reader: StoreReader,
  { metadata, projectRoot }: RunFacts,
): Promise<RunReport["below"]> {
  if (metadata.phase !== "running") return undefined;
  const listed = await reader.ask("read.runs", projectRoot === null ? {} : { project: projectRoot });
  const [nearest, ...further] = listed.ok ? openBelow(listed.value.runs, metadata.runId) : [];
  if (nearest === undefined) return undefined;
  const last = further.at(-1) ?? nearest;
  const asks = last.phase === "waiting-user" ? await questionOf(reader, last) : undefined;
  return { ...named(nearest), ...defined({ asks }) };
}

/** The runs that are open below a run, the nearest first. */
function openBelow(runs: readonly StoredRun[], runId: string): readonly StoredRun[] {
  const found: StoredRun[] = [];
  for (let above = runId; found.length < MAX_SUBWORKFLOW_DEPTH;) {
    const next = runs.find(({ parentRunId, phase }) => parentRunId === above && !isOverPhase(phase));
    if (next === undefined) break;
    found.push(next);
    above = next.runId;
  }
  return found;
}

async function questionOf(reader: StoreReader, run: StoredRun) {
  const facts = await reader.ask("read.run", { run: run.runId });
  const status = facts.ok ? (facts.value.status as RunStatus | null) : null; // the store has parsed it
  if (status?.question === undefined) return undefined;
  const { nodeId, text, code } = status.question;
  return { ...named(run), nodeId, text, ...defined({ code }) };
}

function named({ runId, workflowRef }: StoredRun) {
  return { runId, workflowRef };
}
