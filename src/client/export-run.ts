import { dirname, resolve } from "node:path";
import { Readable } from "node:stream";
import { type History, historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import { type StoreReader, READ_PAGE_BYTES } from "../contract/reads.js";
import { wordsOf } from "../core/system-code.js";
import { withoutPath } from "../core/text.js";
import { InterlockError } from "./temporal/interlock-error.js";
import { wholeFile } from "./stores/store-reader.js";
import { valueOf } from "./stores/transcript.js";
import { type ArchivedFile, archivedFiles, writeArchive } from "../store/runs/run-archive.js";
import type { Store } from "../store/store.js";

export interface ExportRun {
  readonly runId: string;
  /** Path of the zip. What is there is replaced. */
  readonly output: string;
  /** The run's executions, oldest first, as `RunHandle.histories` gives them; empty where Temporal has none. */
  readonly histories: readonly History[];
}

/**
 * Writes everything that is known of a run into one zip: document, audit log, conversation and the rest of its folder,
 * the newest execution's history as `history.json`, earlier ones as `history-1.json` (the oldest) and so on. Returns the
 * names of the entries. Throws `E_RUN_NOT_FOUND` for a run that the store does not hold, `E_INTERNAL` for an output that
 * cannot be written: nothing is left of it then.
 */
export async function exportRun(
  store: Store,
  { runId, output, histories }: ExportRun,
): Promise<readonly string[]> {
  const found = await store.runs.findRun(runId);
  const files = found.ok ? await store.runs.openFiles(found.value.projectId, found.value.runId) : found;
  if (!files.ok) throw new InterlockError(files.error);
  return writeExport({ output, histories }, await archivedFiles(files.value.dir));
}

/** As `exportRun`, with the run's files from wherever they are. */
export async function writeExport(
  { output, histories }: Omit<ExportRun, "runId">,
  files: readonly ArchivedFile[],
): Promise<readonly string[]> {
  const texts = histories.map((history, index): [string, string] => [
    index === histories.length - 1 ? "history.json" : `history-${index + 1}.json`,
    historyToJSON(history),
  ]);
  try {
    return await writeArchive(output, files, new Map(texts));
  } catch (error) {
    const message = `${output} could not be written: ${withoutPath(wordsOf(error), dirname(resolve(output)))}`;
    throw new InterlockError({ code: "E_INTERNAL", message }, error);
  }
}

/**
 * The files of a run's folder as a reader of its store hands them out, each when its turn comes; small ones somewhat before, since
 * a store elsewhere takes its time for each. Throws `E_RUN_NOT_FOUND`.
 */
export async function archivedBy(reader: StoreReader, run: string): Promise<readonly ArchivedFile[]> {
  const { files } = valueOf(await reader.ask("read.files", { run }));
  const ahead = new Map<string, Promise<Buffer>>();
  const readAhead = (from: number): void => {
    for (const { name, bytes } of reader.isAtHand ? [] : files.slice(from, from + READ_AHEAD)) {
      if (bytes > READ_PAGE_BYTES || ahead.has(name)) continue;
      const read = wholeFile(reader.bytes("read.file", { run, name }));
      read.catch(() => undefined); // it is told when its turn comes
      ahead.set(name, read);
    }
  };
  return files.map(({ name, modifiedAt }, index) => ({
    name,
    modifiedAt,
    open: () => {
      readAhead(index);
      const read = ahead.get(name);
      ahead.delete(name);
      const bytes = read === undefined ? reader.bytes("read.file", { run, name }) : later(read);
      return Readable.from(bytes, { objectMode: false });
    },
  }));
}

const READ_AHEAD = 8;

async function* later(read: Promise<Buffer>): AsyncGenerator<Buffer, void> {
  const bytes = await read;
  if (bytes.length > 0) yield bytes;
}
