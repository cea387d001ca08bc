import { stat } from "node:fs/promises";
import type { History } from "@temporalio/common/lib/proto-utils.js";
import { loadConfig } from "../../config.js";
import { counted, excerpt } from "../../core/text.js";
import { type ReplayVerdict, readHistory, replayHistory } from "../../replay.js";
import { dataConverterFor } from "../../seal/data-converter.js";
import { SealCodec } from "../../seal/seal-codec.js";
import { unopenedIn } from "../../seal/unopened.js";
import {
  CommandError,
  EXIT,
  type ExitCode,
  UsageError,
  print,
  printBlock,
  printJson,
} from "../terminal/output.js";
import { NoSuchRun } from "../session/run-folder.js";
import { withRun } from "../session/run-session.js";
import { IN_PASSING, installRuntime } from "../session/worker-runtime.js";
import { wordsOf } from "../../core/system-code.js";
import type { JsonChoice } from "../options/common-options.js";

/** `interlock replay`: whether the code at hand would decide as a history says. */
export async function replayCommand(what: string, options: JsonChoice): Promise<ExitCode> {
  const isFile = await stat(what).then(
    (entry) => entry.isFile(),
    () => false,
  );
  const histories = isFile ? [await historyOfFile(what)] : await historiesOfRun(what);
  installRuntime(IN_PASSING);
  const verdict = await replayAll(histories);
  if (options.json === true) printJson(verdict);
  else if (verdict.ok) {
    const of = histories.length === 1 ? "" : ` of ${histories.length} executions`;
    print(`The code at hand follows all ${counted(verdict.events, "event")}${of}.`);
  } else {
    print("The code at hand departs from this history:");
    printBlock(verdict.departure, "  ");
  }
  return verdict.ok ? EXIT.done : EXIT.failed;
}

async function historyOfFile(path: string): Promise<History> {
  try {
    return await readHistory(path);
  } catch (error) {
    const reason = wordsOf(error);
    throw new UsageError(`"${excerpt(path)}" is no history as JSON: ${excerpt(reason)}`, { cause: error });
  }
}

/** The executions one after the other: one value carries a run from one to the next. */
async function replayAll(histories: readonly History[]): Promise<ReplayVerdict> {
  let events = 0;
  const { sealKeys } = loadConfig();
  const dataConverter = dataConverterFor(sealKeys, "worker");
  for (const history of histories) {
    const replayed = replayHistory(history, undefined, dataConverter);
    const verdict = await replayed.catch(async (error: unknown) => {
      const sealed = await unopenedIn(history, new SealCodec(sealKeys, "client"));
      if (sealed === undefined) throw error;
      throw new CommandError(`E_PRECONDITION_FAILED: ${sealed.message}`, { cause: error });
    });
    if (!verdict.ok) return verdict;
    events += verdict.events;
  }
  return { ok: true, events };
}

/** A workflow's id may have a slash in it, and no more of a path. */
const PATH = /^[./~]|\\|\.json$/;

async function historiesOfRun(runId: string): Promise<readonly History[]> {
  const neither = `"${excerpt(runId)}" is neither a file with a history nor the id of a run.`;
  if (PATH.test(runId)) throw new UsageError(neither);
  try {
    return await withRun(runId, ({ run }) => run.histories());
  } catch (error) {
    if (!(error instanceof NoSuchRun) || !runId.includes("/")) throw error;
    throw new UsageError(neither, { cause: error });
  }
}
