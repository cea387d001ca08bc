import { stat } from "node:fs/promises";
import type { History } from "@temporalio/common/lib/proto-utils.js";
import { z } from "zod";
import { excerpt } from "../core/text.js";
import { readHistory, replayHistory } from "../replay.js";
import { EXIT, type ExitCode, UsageError, print, printJson } from "./output.js";
import { withRun } from "./run-session.js";
import { installRuntime } from "./temporal-session.js";

/** `interlock replay`: whether the code at hand would decide as a history says. */
export async function replayCommand(what: string, options: { json?: boolean }): Promise<ExitCode> {
  const isFile = await stat(what).then(
    (entry) => entry.isFile(),
    () => false,
  );
  const history = isFile ? await historyOfFile(what) : await historyOfRun(what);
  if (isFile) installRuntime("ERROR");
  const verdict = await replayHistory(history);
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
  if (!z.uuid().safeParse(runId).success) {
    throw new UsageError(`"${excerpt(runId)}" is neither a file with a history nor the id of a run.`);
  }
  return withRun(runId, ({ run }) => run.history());
}
