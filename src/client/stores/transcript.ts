import {
  MAX_ASKED_CALLS,
  MAX_MORE_CONVERSATIONS,
  type StoreReader,
  type StoredVisit,
  type TranscriptEntry,
} from "../../contract/reads.js";
import type { Result } from "../../core/errors.js";
import type { JsonValue } from "../../core/json.js";
import { InterlockError } from "../temporal/interlock-error.js";
import { someAtOnce } from "../../core/some-at-once.js";

/** A store elsewhere takes its time for each question, and there is a conversation for each visit: those of so many bytes in all are one. */
const ASKED_BYTES = 512 * 1024;
const ASKED_AT_ONCE = 8;

/** What of a run's conversation is wanted. */
export interface TranscriptChoice {
  /** Visits of this node alone. */
  readonly node?: string;
  /** What models have thought, where their providers say it. */
  readonly reasoning?: boolean;
}

export const TRANSCRIPT_FIELDS: Readonly<Record<keyof TranscriptChoice, true>> = {
  node: true,
  reasoning: true,
};

/** What was said in one visit of a node. */
export interface TranscriptVisit extends Pick<StoredVisit, "name" | "nodeId"> {
  readonly entries: readonly TranscriptEntry[];
}

/** Throws the fault of what could not be had. */
export function valueOf<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new InterlockError(result.error);
}

/** Throws `InterlockError`: `E_RUN_NOT_FOUND`, `E_PRECONDITION_FAILED` for a node that the run has not visited. */
export async function readTranscript(
  reader: StoreReader,
  run: string,
  { node, reasoning = false }: TranscriptChoice = {},
): Promise<readonly TranscriptVisit[]> {
  const { visits } = valueOf(await reader.ask("read.visits", { run }));
  const wanted = visits.filter(({ nodeId }) => node === undefined || nodeId === node);
  if (node !== undefined && wanted.length === 0) {
    const known = [...new Set(visits.flatMap(({ nodeId }) => nodeId ?? []))];
    const message = `The run has not visited that node. It has visited: ${known.join(", ") || "none yet"}.`;
    throw new InterlockError({ code: "E_PRECONDITION_FAILED", message });
  }
  const ask = (group: readonly StoredVisit[]) => conversationsOf(reader, { run, reasoning }, group);
  return (await someAtOnce(inGroups(wanted), ASKED_AT_ONCE, ask)).flat();
}

function inGroups(visits: readonly StoredVisit[]): readonly (readonly StoredVisit[])[] {
  const groups: StoredVisit[][] = [];
  let bytes = 0;
  for (const visit of visits) {
    const last = groups.at(-1);
    bytes += visit.bytes;
    if (last !== undefined && bytes <= ASKED_BYTES && last.length <= MAX_MORE_CONVERSATIONS) last.push(visit);
    else {
      groups.push([visit]);
      bytes = visit.bytes;
    }
  }
  return groups;
}

async function conversationsOf(
  reader: StoreReader,
  asked: { readonly run: string; readonly reasoning: boolean },
  visits: readonly StoredVisit[],
): Promise<readonly TranscriptVisit[]> {
  const [name, ...others] = visits.map((visit) => visit.name);
  if (name === undefined) return [];
  const more = others.length === 0 ? {} : { more: others };
  const answer = await reader.ask("read.conversation", { ...asked, name, ...more });
  // A worker of an earlier version knows of no `more`.
  if (!answer.ok && answer.error.code === "E_SCHEMA_VALIDATION" && others.length > 0) {
    const alone: TranscriptVisit[] = [];
    for (const visit of visits) alone.push(...(await conversationsOf(reader, asked, [visit])));
    return alone;
  }
  const said = valueOf(answer);
  const all = [said.entries, ...(said.more ?? [])];
  return visits.map((visit, index) => ({
    name: visit.name,
    nodeId: visit.nodeId,
    entries: all[index] ?? [],
  }));
}

/** The results of a transcript's calls, by their ids. */
export async function readResults(
  reader: StoreReader,
  run: string,
  transcript: readonly TranscriptVisit[],
): Promise<ReadonlyMap<string, JsonValue>> {
  const ids = transcript
    .flatMap(({ entries }) => entries)
    .flatMap((entry) => (entry.type === "assistant" ? entry.calls.map(({ id }) => id) : []));
  const pages = Array.from({ length: Math.ceil(ids.length / MAX_ASKED_CALLS) }, (_, page) =>
    ids.slice(page * MAX_ASKED_CALLS, (page + 1) * MAX_ASKED_CALLS),
  );
  const answers = await someAtOnce(pages, ASKED_AT_ONCE, async (calls) =>
    valueOf(await reader.ask("read.results", { run, calls })),
  );
  return new Map(answers.flatMap(({ results }) => results.map(({ id, result }) => [id, result])));
}
