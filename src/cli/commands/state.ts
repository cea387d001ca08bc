import { diffGraphState } from "../../core/graph-state/diff.js";
import type { StateDiff, StateSnapshotState } from "../../core/graph-state/schemas.js";
import type { JsonValue } from "../../core/json.js";
import { oneLine, shellName } from "../../core/text.js";
import type { StoredGraphState } from "../../contract/reads.js";
import { printableJson } from "../../core/documents/printable-json.js";
import { read } from "../session/run-folder.js";
import { withReader } from "../session/run-session.js";
import { EXIT, type ExitCode, UsageError, print, printBlock, printJson } from "../terminal/output.js";

interface StateOptions {
  readonly at?: string;
  readonly diff?: string;
  readonly json?: boolean;
}

/** One state of a run: after a visit, at the beginning (visit 0, no node), or since the last visit (no visit, no node). */
interface Moment {
  readonly visit: number | null;
  readonly nodeId: string | null;
  readonly timestamp: string | null;
  readonly state: StateSnapshotState;
}

/** `interlock state`: shows the graph state of a run, or compares two of its snapshots. Needs no Temporal. */
export async function stateCommand(named: string, options: StateOptions): Promise<ExitCode> {
  const at = visitNumber("--at", options.at);
  const other = visitNumber("--diff", options.diff);
  const { runId, stored } = await withReader(named, async ({ reader, runId }) => {
    return { runId, stored: read(runId, await reader.ask("read.state", { run: runId })) };
  });
  const moments = momentsOf(stored);
  if (moments === undefined && stored.isBundle) {
    throw new UsageError(
      `Run ${runId} is a bundle run: only graph runs have a graph state. See: interlock status ${shellName(runId)}`,
    );
  }
  if (moments === undefined) {
    throw new UsageError(`Run ${runId} carries no story: start it with --story to give it a graph state.`);
  }
  const chosen = momentAt(moments, at);
  if (other === undefined) showMoment(runId, chosen, options.json === true);
  else {
    const compared = momentAt(moments, other);
    const inOrder = orderOf(chosen) <= orderOf(compared);
    showDiff(runId, inOrder ? chosen : compared, inOrder ? compared : chosen, options.json === true);
  }
  return EXIT.done;
}

function visitNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`${option} takes the number of a node visit, 0 or more.`);
  return Number(text);
}

function orderOf({ visit }: Moment): number {
  return visit ?? Number.POSITIVE_INFINITY;
}

interface Moments {
  /** The last of the kept ones, unless the state has changed since. */
  readonly now: Moment;
  readonly kept: readonly Moment[];
}

function momentsOf(stored: StoredGraphState): Moments | undefined {
  const { held, snapshots } = stored as unknown as ParsedGraphState; // the store has parsed it
  if (held === undefined) return undefined;
  const beginning = { visit: 0, nodeId: null, timestamp: null, state: held.initial };
  const last = snapshots.at(-1) ?? beginning;
  const isLast = !diffGraphState(last.state, held.state).hasChanges;
  const now = isLast ? last : { visit: null, nodeId: null, timestamp: null, state: held.state };
  return { now, kept: [beginning, ...snapshots] };
}

interface ParsedGraphState {
  readonly held?: { readonly state: StateSnapshotState; readonly initial: StateSnapshotState };
  readonly snapshots: readonly {
    readonly visit: number;
    readonly nodeId: string;
    readonly timestamp: string;
    readonly state: StateSnapshotState;
  }[];
}

function momentAt({ now, kept }: Moments, visit: number | undefined): Moment {
  if (visit === undefined) return now;
  const moment = kept.find((candidate) => candidate.visit === visit);
  if (moment !== undefined) return moment;
  throw new UsageError(`There is no snapshot ${visit}: this run has 0 to ${kept.at(-1)?.visit ?? 0}.`);
}

function showMoment(runId: string, moment: Moment, json: boolean): void {
  const { visit, nodeId, timestamp, state } = moment;
  if (json) printJson({ runId, visit, nodeId, timestamp, state });
  else {
    print(`Graph state ${describe(moment)}`);
    printBlock(printableJson(state as unknown as JsonValue, 2)); // plain JSON
  }
}

function showDiff(runId: string, from: Moment, to: Moment, json: boolean): void {
  const diff = diffGraphState(from.state, to.state);
  if (json) {
    const place = ({ visit, nodeId }: Moment) => ({ visit, nodeId });
    printJson({ runId, from: place(from), to: place(to), ...diff });
    return;
  }
  print(`From the state ${describe(from)} to the one ${describe(to)}:`);
  for (const line of diffLines(diff)) print(line);
}

function describe({ visit, nodeId }: Moment): string {
  if (visit === null) return "now, in a visit that has not ended";
  return nodeId === null ? "at the beginning" : `after visit ${visit} (${oneLine(nodeId)})`;
}

function diffLines(diff: StateDiff): readonly string[] {
  if (!diff.hasChanges) return ["  no difference"];
  const value = (item: unknown) => printableJson(item as JsonValue); // of a state, which is plain JSON
  return [
    ...diff.added.map((item) => `  + ${item.path}: ${value(item.newValue)}`),
    ...diff.changed.map((item) => `  ~ ${item.path}: ${value(item.oldValue)} → ${value(item.newValue)}`),
    ...diff.removed.map((item) => `  - ${item.path}: ${value(item.oldValue)}`),
  ];
}
