import {
  CancellationScope,
  allHandlersFinished,
  condition,
  currentUpdateInfo,
  patched,
  workflowInfo,
} from "@temporalio/workflow";
import { ANSWER_UPDATE } from "../contract/names.js";
import type { MaybeSigned } from "../contract/run.js";
import { updateStatement } from "../contract/signed.js";
import { questionIn } from "../core/run/question.js";
import { localActivities, updateActivities } from "./activity-options.js";
import { refusalOf } from "./failures.js";
import { requireOpened } from "./payload-converter.js";
import type { RunRecord } from "../core/engine/run-record.js";

/** An update of a run: its name, its argument, what its validator asks and what it does. Both are synchronous. */
interface Told<T> {
  readonly name: string;
  readonly argument?: MaybeSigned | undefined;
  check(): void;
  act(): T;
  /** The update has taken effect under its id before. */
  wasTaken(): boolean;
}

/**
 * Lets an update take effect: at once in a run that was started without a signature, which such a worker opens only where it
 * takes all starts. Else its worker says first whether the update is signed; meanwhile the run may have moved on, so that what
 * the validator has asked is asked again. Nothing is changed before. Throws `E_PRECONDITION_FAILED` to the caller.
 */
export function takeUpdate<T>(record: RunRecord, told: Told<T>): T | Promise<T> {
  requireOpened(told.argument);
  const isOpenUnsigned = record.open !== undefined && record.open.run.signed !== true;
  if (record.input.signature === undefined || isOpenUnsigned) return told.act();
  return verified(record, told);
}

async function verified<T>(record: RunRecord, told: Told<T>): Promise<T> {
  // Which mode the run has is its worker's word, and comes with the run's opening.
  await condition(() => record.open !== undefined || record.failure !== undefined);
  if (record.open?.run.signed === true && !told.wasTaken()) await verify(record, record.open.run, told);
  if (!told.wasTaken()) told.check();
  return told.act();
}

async function verify<T>(
  record: RunRecord,
  run: NonNullable<RunRecord["open"]>["run"],
  { name, argument }: Told<T>,
): Promise<void> {
  const question = questionIn(record.carried);
  const statement = updateStatement(
    {
      update: name,
      workflowId: workflowInfo().workflowId,
      executionId: workflowInfo().runId,
      updateId: currentUpdateInfo()?.id ?? "",
      ...(name === ANSWER_UPDATE ? { question } : {}),
    },
    argument,
  );
  const { signature } = argument ?? {};
  const looks = patched("updates-verified-by-regular-activities") ? updateActivities : localActivities;
  const { valid } = await CancellationScope.nonCancellable(() =>
    looks["update.verify"]({
      run,
      statement,
      ...(signature === undefined ? {} : { signature }),
    }),
  );
  const isAsked = name !== ANSWER_UPDATE || questionIn(record.carried) === question;
  if (valid && isAsked) return;
  const what = `The update ${name} is not signed for this run${name === ANSWER_UPDATE ? " and its question" : ""}.`;
  throw refusalOf(
    `${what} This store takes signed starts only: tell the run with Interlock's own commands, where the store is.`,
  );
}

/** The run is over: what is still being looked at hears so. */
export async function refuseLateUpdates(record: RunRecord): Promise<void> {
  if (record.input.signature === undefined || allHandlersFinished()) return;
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
}
