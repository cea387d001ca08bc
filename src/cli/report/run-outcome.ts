import type { RunFacts, StoreReader, StoredEvents } from "../../contract/reads.js";
import { isRefusal } from "../../core/run/refusals.js";
import { fieldOf } from "../../core/json.js";
import type { RunEvent } from "../../core/run/run-event.js";
import type { RunPhase } from "../../core/run/phase.js";
import type { RunState } from "../../core/run/run-state.js";
import type { Usage } from "../../core/run/usage.js";
import { read } from "../session/run-folder.js";
import { reportFromStore } from "./run-report.js";
import { defined } from "../../core/defined.js";

/** What a run has come to: what it is judged by, and set beside another by. */
export interface RunOutcome {
  readonly runId: string;
  readonly packageId: string;
  readonly phase: RunPhase;
  readonly forkedFrom?: { readonly runId: string; readonly visit: number };
  /** What answered last, or would: its name in the settings, or what its endpoint calls it. */
  readonly model?: string;
  /** The nodes it has entered, in order; of very many the last ones. */
  readonly path: readonly string[];
  /** The calls that the runtime has said no to, in order. */
  readonly refusals: readonly RefusedCall[];
  readonly usage: Usage;
  /** By their paths. */
  readonly artifacts: readonly OutcomeArtifact[];
}

export interface RefusedCall {
  readonly nodeId: string;
  readonly tool: string;
  readonly code: string;
}

/** A result as the run has left it; one that it has not written itself, as it lies there now. */
export interface OutcomeArtifact {
  readonly path: string;
  readonly bytes: number | null;
  /** Null for a file that cannot be read; `problem` says why. */
  readonly sha256: string | null;
  readonly problem?: string;
}

/**
 * What a run's store tells of how it went. Throws a sentence for a run that is not there. `now`: where the run itself has said how it
 * stands; its files follow a moment later.
 */
export async function outcomeOf(
  reader: StoreReader,
  runId: string,
  now?: Pick<RunState, "phase" | "usage">,
): Promise<RunOutcome> {
  const facts = read(runId, await reader.ask("read.run", { run: runId }));
  const { packageId, ...filed } = reportFromStore(facts);
  const { phase, usage } = now ?? filed;
  const { forkedFrom } = facts.metadata;
  const model = modelIn(facts);
  return {
    runId: facts.metadata.runId,
    packageId,
    phase,
    ...defined({ forkedFrom, model }),
    path: await pathOf(reader, runId, phase),
    refusals: await refusalsOf(reader, runId),
    usage,
    artifacts: await artifactsOf(reader, runId),
  };
}

function modelIn({ model }: RunFacts): string | undefined {
  const known = model?.answeredBy ?? model?.chain[0];
  return known?.name ?? known?.model;
}

async function pathOf(reader: StoreReader, run: string, phase: RunPhase): Promise<readonly string[]> {
  const { visits, next } = read(run, await reader.ask("read.course", { run }));
  const ended = visits.map(({ nodeId }) => nodeId);
  return phase === "completed" || next === "" ? ended : [...ended, next];
}

async function refusalsOf(reader: StoreReader, run: string): Promise<readonly RefusedCall[]> {
  const refusals: RefusedCall[] = [];
  for await (const event of eventsOf(reader, run)) {
    if (event.kind !== "tool.exec") continue;
    const code = codeIn(event.output);
    if (code !== undefined && isRefusal(code))
      refusals.push({ nodeId: event.nodeId, tool: event.toolName, code });
  }
  return refusals;
}

/** What has happened in a run until now. */
export async function* eventsOf(reader: StoreReader, run: string): AsyncGenerator<RunEvent, void> {
  let at: StoredEvents["next"] | undefined;
  for (let more = true; more;) {
    const asked = at === undefined ? { run } : { run, at };
    const page: StoredEvents = read(run, await reader.ask("read.events", asked));
    yield* page.events;
    at = page.next;
    more = page.more;
  }
}

/** The error code of a call's result. */
function codeIn(output: unknown): string | undefined {
  const code = fieldOf(fieldOf(output, "error"), "code");
  return typeof code === "string" ? code : undefined;
}

const PROJECT = "@project/";

/** Two runs in one project write the same files: what counts is what each of them has written last. */
async function artifactsOf(reader: StoreReader, run: string): Promise<readonly OutcomeArtifact[]> {
  const { writes } = read(run, await reader.ask("read.writes", { run }));
  const written = new Map(writes.map((write) => [write.path.slice(PROJECT.length), write]));
  const { artifacts } = read(run, await reader.ask("read.artifacts", { run }));
  return artifacts
    .map(({ path, bytes, sha256, problem }): OutcomeArtifact => {
      const own = written.get(path);
      if (own !== undefined) return { path, bytes: own.bytes ?? null, sha256: own.sha256 };
      return { path, bytes, sha256, ...defined({ problem }) };
    })
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
}
