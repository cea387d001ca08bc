import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { open, readdir, rename, rm } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import { ZipFile } from "yazl";
import { InterlockError } from "../client.js";
import { openEnvironment } from "./environment.js";
import { CommandError, EXIT, type ExitCode, noSuchRun, print, printJson, printNote } from "./output.js";
import { installRuntime, openTemporalSession } from "./temporal-session.js";

/** `interlock export`: everything that is known of a run, in one archive. */
export async function exportCommand(
  runId: string,
  options: { output?: string; json?: boolean },
): Promise<ExitCode> {
  const { config, store } = await openEnvironment();
  const found = await store.runs.findRun(runId);
  const files = found.ok ? await store.runs.openFiles(found.value.projectId, runId) : found;
  if (!files.ok) throw noSuchRun(runId);
  installRuntime("ERROR");
  const session = await openTemporalSession(config, store);
  let history: string | undefined;
  try {
    history = historyToJSON(await session.client.handle(runId).history());
  } catch (error) {
    if (!(error instanceof InterlockError)) throw error;
    printNote(`Without Temporal's history: ${error.message}`);
  } finally {
    await session.close();
  }
  const output = resolve(options.output ?? `run-${runId}.zip`);
  const names = await writeArchive(output, files.value.dir, history);
  if (options.json === true) printJson({ runId, output, entries: names });
  else print(`${names.length} files of run ${runId} are in ${output}`);
  return EXIT.done;
}

/** Writes beside the output first: an archive that is there is whole. */
async function writeArchive(
  output: string,
  dir: string,
  history: string | undefined,
): Promise<readonly string[]> {
  const zip = new ZipFile();
  const names: string[] = [];
  if (history !== undefined) {
    names.push("history.json");
    zip.addBuffer(Buffer.from(history), "history.json");
  }
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const path of paths.filter((name) => !/\.lock$|\.tmp-/.test(name)).sort()) {
    // A backslash is part of a name here, and a separator to those who unpack the archive elsewhere.
    const name = relative(dir, path).split(sep).join("/").replaceAll("\\", "%5C");
    names.push(name);
    zip.addReadStreamLazy(name, { mode: 0o100600 }, (take) => {
      asItIsNow(path).then(
        (stream) => take(undefined, stream),
        (error: unknown) => zip.emit("error", error),
      );
    });
  }
  const failed = new AbortController();
  zip.on("error", (error: Error) => failed.abort(error));
  zip.end();
  const temporary = `${output}.tmp-${randomBytes(6).toString("hex")}`;
  try {
    const file = createWriteStream(temporary, { flags: "wx", mode: 0o600 });
    await pipeline(zip.outputStream, file, { signal: failed.signal });
    await rename(temporary, output);
  } catch (error) {
    await rm(temporary, { force: true });
    const cause: unknown = failed.signal.aborted ? failed.signal.reason : error;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CommandError(`${output} could not be written: ${reason}`, { cause: error });
  }
  return names;
}

/** A file up to its present end: the logs of a run that is under way go on growing. */
async function asItIsNow(path: string): Promise<Readable> {
  const file = await open(path);
  const { size } = await file.stat();
  if (size === 0) {
    await file.close();
    return Readable.from([]);
  }
  return file.createReadStream({ start: 0, end: size - 1 });
}
