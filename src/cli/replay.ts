import { stat } from "node:fs/promises";
import type { History } from "@temporalio/common/lib/proto-utils.js";
import { InterlockError } from "../client.js";
import { readHistory, replayHistory } from "../replay.js";
import { openEnvironment } from "./environment.js";
import { CommandError, EXIT, type ExitCode, UsageError, print, printJson } from "./output.js";
import { installRuntime, openTemporalSession } from "./temporal-session.js";

/** `interlock replay`: whether the code at hand would decide as a history says. */
export async function replayCommand(what: string, options: { json?: boolean }): Promise<ExitCode> {
  installRuntime("ERROR");
  const isFile = await stat(what).then(
    (entry) => entry.isFile(),
    () => false,
  );
  const verdict = await replayHistory(isFile ? await historyOfFile(what) : await historyOfRun(what));
  if (options.json === true) printJson(verdict);
  else if (verdict.ok) print(`The code at hand follows all ${verdict.events} events.`);
  else print(`The code at hand departs from this history:\n${verdict.departure}`);
  return verdict.ok ? EXIT.done : EXIT.failed;
}

async function historyOfFile(path: string): Promise<History> {
  try {
    return await readHistory(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`"${path}" is no history as JSON: ${reason}`, { cause: error });
  }
}

async function historyOfRun(runId: string): Promise<History> {
  const { config, store } = await openEnvironment();
  const session = await openTemporalSession(config, store);
  try {
    return await session.client.handle(runId).history();
  } catch (error) {
    if (!(error instanceof InterlockError)) throw error;
    throw new CommandError(`${error.message} A file is replayed by its path.`, { cause: error });
  } finally {
    await session.close();
  }
}
