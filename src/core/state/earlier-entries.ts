import { z } from "zod";
import { type JsonObject, type JsonValue, objectOf, jsonBytes } from "../json.js";
import { sha256Schema } from "../sha256.js";
import type { Frontmatter } from "./state-frontmatter.js";

/**
 * The lists of a state document that grow with the length of its run. The document holds their newest entries; those before lie in
 * files beside it, and the document says how many there are and where the newest of them lie (contracts §5). So a save costs the
 * same however long the run is.
 */
export const GROWING_LISTS = ["decisionLog", "artifacts"] as const;
export type GrowingList = (typeof GROWING_LISTS)[number];

/** The key of the document that says it. The runtime sets it, nobody else. */
export const EARLIER_ENTRIES = "earlierEntries";

/** A list in the document has so much at most when a visit begins, as JSON. */
const MAX_LIST_BYTES = 8 * 1024;
/** So much of one that had more stays: the next ones are moved after as much again. */
const KEPT_LIST_BYTES = 4 * 1024;

/** Where the entries before the first one of a list lie. */
export const earlierSchema = z.object({
  /** How many entries are not in the document. */
  count: z.int().min(1),
  /** Where the last of them lie; that file says where those before them do. */
  file: z.string().regex(/^@state\/logs\/[A-Za-z]+\.\d+-\d+\.[0-9a-f]{8}\.jsonl$/),
  /** The file's. */
  sha256: sha256Schema,
});
export type Earlier = z.infer<typeof earlierSchema>;
export type EarlierEntries = { readonly [list in GrowingList]?: Earlier };

/** The version of a document from which entries were moved to files, and what it says of them. */
export interface MovedEntries {
  readonly sha256: string;
  readonly earlier: EarlierEntries;
}

/** What a document says of its earlier entries. What it says in any other way than the runtime does says nothing. */
export function earlierEntriesOf(frontmatter: JsonObject): EarlierEntries {
  const said = objectOf(frontmatter[EARLIER_ENTRIES]);
  const known = GROWING_LISTS.flatMap((list) => {
    const { data } = earlierSchema.safeParse(said[list]);
    return data === undefined ? [] : [[list, data] as const];
  });
  return Object.fromEntries(known);
}

/** How many artifacts are not in the document; absent where it has all. */
export function earlierArtifactsOf(frontmatter: JsonObject): { readonly earlierArtifacts?: number } {
  const { artifacts } = earlierEntriesOf(frontmatter);
  return artifacts === undefined ? {} : { earlierArtifacts: artifacts.count };
}

/** Whether two documents say the same of them. */
export function saySameOfEarlier(one: JsonObject, other: JsonObject): boolean {
  return JSON.stringify(earlierEntriesOf(one)) === JSON.stringify(earlierEntriesOf(other));
}

/** The entries of a list that are too many for a document, oldest first. The newest one always stays. */
export function surplusOf(entries: readonly JsonValue[]): readonly JsonValue[] {
  const sizes = entries.map((entry) => jsonBytes(entry) + 1);
  if (sizes.reduce((sum, size) => sum + size, 0) <= MAX_LIST_BYTES) return [];
  let first = entries.length - 1;
  let bytes = sizes[first] ?? 0;
  while (first > 0 && bytes + (sizes[first - 1] ?? 0) <= KEPT_LIST_BYTES) {
    first -= 1;
    bytes += sizes[first] ?? 0;
  }
  return entries.slice(0, first);
}

/** The document without the entries that were moved to files: how many those are now, `earlier` says. */
export function withEarlier(frontmatter: Frontmatter, earlier: EarlierEntries): Frontmatter {
  const before = earlierEntriesOf(frontmatter);
  const moved = (list: GrowingList): number => (earlier[list]?.count ?? 0) - (before[list]?.count ?? 0);
  return {
    ...frontmatter,
    decisionLog: frontmatter.decisionLog.slice(moved("decisionLog")),
    artifacts: frontmatter.artifacts.slice(moved("artifacts")),
    [EARLIER_ENTRIES]: earlier,
  };
}
