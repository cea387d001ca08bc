import { resolve } from "node:path";
import type { History } from "@temporalio/common/lib/proto-utils.js";
import { InterlockError } from "../client.js";
import { exportRun } from "../export-run.js";
import { interruption, openEnvironment } from "./environment.js";
import { CommandError, EXIT, type ExitCode, print, printJson, printNote } from "./output.js";
import { openRunFolder } from "./run-folder.js";
import { referenceOf } from "./run-session.js";
import { installRuntime, openTemporalSession } from "./temporal-session.js";

/** `interlock export`: everything that is known of a run, in one archive. */
export async function exportCommand(
  id: string,
  options: { output?: string; json?: boolean },
): Promise<ExitCode> {
  const { config, store } = await openEnvironment();
  const { run } = await openRunFolder(store, id);
  const { runId } = run;
  installRuntime("ERROR");
  const session = await openTemporalSession(config, store, interruption());
  let histories: readonly History[] = [];
  try {
    histories = await session.client.handle(referenceOf(run) ?? runId).histories();
  } catch (error) {
    if (!(error instanceof InterlockError)) throw error;
    printNote(`Without Temporal's history: ${error.message}`);
  } finally {
    await session.close();
  }
  const output = resolve(options.output ?? `run-${runId}.zip`);
  const names = await exportRun(store, { runId, output, histories }).catch((error: unknown) => {
    if (!(error instanceof InterlockError)) throw error;
    throw new CommandError(error.message, { cause: error });
  });
  if (options.json === true) printJson({ runId, output, entries: names });
  else print(`${names.length} files of run ${runId} are in ${output}`);
  return EXIT.done;
}
