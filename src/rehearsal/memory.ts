/**
 * What the rehearsal remembers between requests. Everything else it knows stands in the request. A value: `decide`
 * takes one and gives back the next.
 */
export interface Memory {
  /** Successive runs begin with successive edges. */
  readonly branches: boolean;
  readonly jump: Jump;
  /** Per workflow and node, which run was the how-manieth to choose an edge there. */
  readonly starts: ReadonlyMap<string, Starts>;
}

/** The forbidden jump: off, still to come, or claimed by one moment of one run, so that it happens once. */
type Jump =
  | { readonly kind: "off" }
  | { readonly kind: "due" }
  | { readonly kind: "claimed"; readonly by: string };

interface Starts {
  readonly next: number;
  readonly runs: ReadonlyMap<string, number>;
}

const MAX_NODES = 10_000;
const MAX_RUNS_PER_NODE = 100;

/** What an earlier run decided: the `decisionLog` of its state document. */
export interface EarlierRun {
  /** As RUN_DIRECTIVE names it. */
  readonly workflow: string;
  readonly decisions: readonly { readonly from: string }[];
}

interface MemoryOptions {
  readonly branches?: boolean;
  readonly forbiddenJump?: boolean;
  readonly earlierRuns?: readonly EarlierRun[];
}

export function newMemory(options: MemoryOptions = {}): Memory {
  const starts = new Map<string, Starts>();
  for (const run of options.earlierRuns ?? []) {
    for (const nodeId of new Set(run.decisions.map((decision) => decision.from))) {
      const place = placeOf(run.workflow, nodeId);
      starts.set(place, { next: (starts.get(place)?.next ?? 0) + 1, runs: new Map() });
    }
  }
  return {
    branches: options.branches === true,
    jump: { kind: options.forbiddenJump === true ? "due" : "off" },
    starts,
  };
}

/** A node of a workflow, as a key. */
export function placeOf(workflow: string, nodeId: string): string {
  return JSON.stringify([workflow, nodeId]);
}

/**
 * With which edge this run begins at this place. The same run gets the same number each time it asks; a run that
 * cannot be told apart (no id) counts as a new one each time, so that it does not take one edge for ever.
 */
export function startAt(
  memory: Memory,
  place: string,
  runId: string | undefined,
): { readonly start: number; readonly memory: Memory } {
  const known = memory.starts.get(place) ?? { next: 0, runs: new Map<string, number>() };
  const remembered = runId === undefined ? undefined : known.runs.get(runId);
  if (remembered !== undefined) return { start: remembered, memory };
  const runs =
    runId === undefined ? known.runs : lastOf([...known.runs, [runId, known.next]], MAX_RUNS_PER_NODE);
  const others = [...memory.starts].filter(([key]) => key !== place);
  const starts = lastOf<string, Starts>([...others, [place, { next: known.next + 1, runs }]], MAX_NODES);
  return { start: known.next, memory: { ...memory, starts } };
}

function lastOf<K, V>(entries: readonly (readonly [K, V])[], count: number): ReadonlyMap<K, V> {
  return new Map(entries.slice(-count));
}
