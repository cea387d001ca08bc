import { createWriteStream } from "node:fs";
import { readdir, rename, rm } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import { ZipFile } from "yazl";
import { InterlockError } from "../client.js";
import { openEnvironment } from "./environment.js";
import { EXIT, type ExitCode, UsageError, print, printJson, printNote } from "./output.js";
import { installRuntime, openTemporalSession } from "./temporal-session.js";

/** `interlock export`: everything that is known of a run, in one archive. */
export async function exportCommand(
  runId: string,
  options: { output?: string; json?: boolean },
): Promise<ExitCode> {
  const { config, store } = await openEnvironment();
  const found = await store.runs.findRun(runId);
  const files = found.ok ? await store.runs.openFiles(found.value.projectId, runId) : found;
  if (!files.ok) throw new UsageError(`${files.error.message} See: interlock runs`);
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
    const name = relative(dir, path).split(sep).join("/");
    names.push(name);
    zip.addFile(path, name);
  }
  zip.end();
  const temporary = `${output}.tmp`;
  try {
    await pipeline(zip.outputStream, createWriteStream(temporary, { mode: 0o600 }));
    await rename(temporary, output);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  return names;
}
