import { dirname, join } from "node:path";
import { z } from "zod";
import { withFrontmatter } from "../../core/documents/front-matter.js";
import { printableJson } from "../../core/documents/printable-json.js";
import { type Failed, type Result, fail, ok } from "../../core/errors.js";
import { failpoint } from "../../core/failpoint.js";
import type { JsonObject, JsonValue } from "../../core/json.js";
import {
  type Earlier,
  type EarlierEntries,
  GROWING_LISTS,
  type GrowingList,
  type MovedEntries,
  earlierEntriesOf,
  earlierSchema,
  surplusOf,
  withEarlier,
} from "../../core/state/earlier-entries.js";
import type { Decision, Frontmatter } from "../../core/state/state-frontmatter.js";
import { systemCode, unreadFault } from "../../core/system-code.js";
import { syncDirectory, writeFileAtomic } from "../disk/atomic-file.js";
import type { HeldLock } from "../disk/fenced-lock.js";
import { readOwnFileSync, standsThere } from "../disk/own-file.js";
import { sha256 } from "../disk/sha256.js";
import type { RunFiles } from "./run-files.js";
import { type StateDocument, parseStateDocument, withNewFrontmatter } from "./state-file.js";

/**
 * The entries of a document's lists that are too many for it: in `state/logs/`, where a model can read them.
 *
 * E1. A file is written once, by its content: its name has the numbers of its entries, counted from 1, and the beginning of its hash.
 *     Nothing is appended to, cut or replaced. So whoever writes it once more, or late, changes nothing.
 * E2. Its first line says where the entries before it lie. A document names its newest file, with its hash: whichever version of a
 *     document is looked at, that of an earlier visit or that of a fork, its lists are what they were.
 * E3. What is moved depends on the document alone. The files are durable before the document without these entries replaces it; an
 *     attempt that was cut short in between, or after it, is made again and comes to the same; so does one that waited for another.
 */

/**
 * Moves what is too much for the document, as it stood when a visit ended; nothing where there is nothing to move, or where the
 * document was changed since, by somebody else. The boundary of the visit is kept already.
 */
export async function moveEarlierEntries(
  files: RunFiles,
  ended: { readonly visit: number; readonly documentSha256: string },
): Promise<MovedEntries | undefined> {
  const now = await files.state.read();
  if (!now.ok) return undefined;
  const was = now.value.sha256 === ended.documentSha256 ? now : await keptDocument(files, ended.visit);
  if (!was.ok || was.value.sha256 !== ended.documentSha256) return undefined;
  const plan = planOf(was.value);
  if (plan === undefined) return undefined;
  const { after, written, earlier } = plan;
  return files.whileStateIsMine(async (lock): Promise<MovedEntries | undefined> => {
    const moved = { sha256: after.sha256, earlier };
    const mine = await files.state.read(); // another attempt may have moved them, now or before
    if (mine.ok && mine.value.sha256 === after.sha256) {
      await files.state.sync();
      return moved;
    }
    if (!mine.ok || mine.value.sha256 !== ended.documentSha256) return undefined;
    for (const file of written) await keepFile(files.stateDir, file, lock);
    failpoint("entries.written");
    if (!(await files.state.replace(was.value.sha256, after.bytes, lock))) return undefined;
    files.state.remember(after);
    failpoint("entries.moved");
    return moved;
  });
}

/** The document as the boundary of a visit has it. */
async function keptDocument({ boundaries }: RunFiles, visit: number): Promise<Result<StateDocument>> {
  await boundaries.all();
  return parseStateDocument(boundaries.documentAt(visit));
}

interface EarlierFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

interface Plan {
  readonly after: StateDocument;
  readonly written: readonly EarlierFile[];
  readonly earlier: EarlierEntries;
}

function planOf(document: StateDocument): Plan | undefined {
  const { frontmatter } = document;
  const before = earlierEntriesOf(frontmatter);
  const moved = GROWING_LISTS.flatMap((list) => {
    const surplus = surplusOf(frontmatter[list]);
    return surplus.length === 0 ? [] : [{ list, ...fileOf(list, surplus, before[list]) }];
  });
  if (moved.length === 0) return undefined;
  const earlier: EarlierEntries = {
    ...before,
    ...Object.fromEntries(moved.map(({ list, earlier: newest }) => [list, newest])),
  };
  const next = withEarlier(frontmatter, earlier);
  const rendered = withFrontmatter(document.parts, next);
  if (!rendered.ok) return undefined; // it is smaller than the one that was saved, but for what it says of its files
  return {
    after: withNewFrontmatter(document, rendered.value, next),
    written: moved.map(({ file }) => file),
    earlier,
  };
}

function fileOf(
  list: GrowingList,
  entries: readonly JsonValue[],
  before: Earlier | undefined,
): { readonly file: EarlierFile; readonly earlier: Earlier } {
  const first = (before?.count ?? 0) + 1;
  const count = first + entries.length - 1;
  const head: JsonObject = { list, from: first, to: count, ...(before === undefined ? {} : { before }) };
  const bytes = Buffer.from([head, ...entries].map((line) => `${printableJson(line)}\n`).join(""));
  const hash = sha256(bytes);
  const numbers = [first, count].map((number) => String(number).padStart(6, "0")).join("-");
  const name = `${list}.${numbers}.${hash.slice(0, 8)}.jsonl`;
  return { file: { name, bytes }, earlier: { count, file: `${FOLDER}${name}`, sha256: hash } };
}

const FOLDER = "@state/logs/";

async function keepFile(stateDir: string, { name, bytes }: EarlierFile, lock: HeldLock): Promise<void> {
  const path = join(stateDir, "logs", name);
  if (standsThere(path) && readOwnFileSync(path).equals(bytes)) {
    return syncDirectory(dirname(path)); // who wrote it may have died first
  }
  await writeFileAtomic(path, bytes, lock);
}

const headSchema = z.object({
  from: z.int().min(1),
  to: z.int().min(1),
  before: earlierSchema.exactOptional(),
});

/** The files that a document's list goes back to, newest first. Fault: `E_INTERNAL` for one that is missing, damaged, or cannot be read now. */
function filesBefore(
  stateDir: string,
  list: GrowingList,
  frontmatter: JsonObject,
): Result<readonly (EarlierFile & { readonly entries: readonly JsonValue[] })[]> {
  const found: (EarlierFile & { readonly entries: readonly JsonValue[] })[] = [];
  for (let earlier = earlierEntriesOf(frontmatter)[list]; earlier !== undefined;) {
    const name = earlier.file.slice(FOLDER.length);
    const path = join(stateDir, "logs", name);
    const read = bytesOf(path);
    if (!read.ok) return read;
    const bytes = read.value;
    if (bytes === undefined || sha256(bytes) !== earlier.sha256) return damaged(path);
    const [first = "", ...lines] = bytes.toString("utf8").trimEnd().split("\n");
    const head = headSchema.safeParse(JSON.parse(first)).data; // its hash says that it was written here
    if (head?.to !== earlier.count) return damaged(path);
    found.push({ name, bytes, entries: lines.map((line) => JSON.parse(line) as JsonValue) });
    if ((head.before?.count ?? 0) !== head.from - 1) return damaged(path); // so it ends
    earlier = head.before;
  }
  return ok(found);
}

function bytesOf(path: string): Result<Buffer | undefined> {
  try {
    return ok(readOwnFileSync(path));
  } catch (error) {
    return unreadFault(path, systemCode(error)) ?? ok(undefined);
  }
}

function damaged(path: string): Failed {
  return fail(
    "E_INTERNAL",
    `${path} is missing or damaged: the state document goes back to it. Restore it from a backup.`,
  );
}

function entriesOf(
  stateDir: string,
  list: GrowingList,
  frontmatter: Frontmatter,
): Result<readonly JsonValue[]> {
  const before = filesBefore(stateDir, list, frontmatter);
  if (!before.ok) return before;
  return ok([...before.value.toReversed().flatMap(({ entries }) => entries), ...frontmatter[list]]);
}

/** All artifacts that a document lists, each once. Fault: `E_INTERNAL`. */
export function allArtifacts(stateDir: string, frontmatter: Frontmatter): Result<readonly string[]> {
  const entries = entriesOf(stateDir, "artifacts", frontmatter);
  // One that was written once more after it was moved is listed again.
  return entries.ok ? ok([...new Set(entries.value.map(String))]) : entries;
}

/** All decisions that a document has noted. Fault: `E_INTERNAL`. */
export function allDecisions(stateDir: string, frontmatter: Frontmatter): Result<readonly Decision[]> {
  const entries = entriesOf(stateDir, "decisionLog", frontmatter);
  return entries.ok ? ok(entries.value as readonly Decision[]) : entries; // a document had them
}

/** A fork has its source's earlier entries: those that its own document goes back to. Fault: `E_INTERNAL`. */
export async function copyEarlierFiles(
  source: RunFiles,
  fork: RunFiles,
  frontmatter: Frontmatter,
): Promise<Result<void>> {
  const all: EarlierFile[] = [];
  for (const list of GROWING_LISTS) {
    const before = filesBefore(source.stateDir, list, frontmatter);
    if (!before.ok) return before;
    all.push(...before.value);
  }
  if (all.length === 0) return ok(undefined);
  await fork.whileStateIsMine(async (lock) => {
    for (const file of all) await keepFile(fork.stateDir, file, lock);
  });
  return ok(undefined);
}
