/** The workflow id of a run that was given none: one run, one workflow id, through retries. */
export function workflowIdOf(runId: string): string {
  return `run-${runId}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Whether a text is a run's id: a UUID, in lower case only. It names a folder, and some file systems take two spellings for one. */
export function isRunId(text: string): boolean {
  return UUID.test(text);
}

const SHORT_CHARS = 8;
/** Ids that Temporal makes (UUIDs of version 7) begin with the time: eight digits are those of all that came in one minute. */
const SHORT_TIMED_CHARS = 18;
const TIMED = /^.{14}7/;

/** Enough of a run's id to tell it from others, and for a command to know it by. */
export function shortRunId(runId: string): string {
  return runId.slice(0, TIMED.test(runId) ? SHORT_TIMED_CHARS : SHORT_CHARS);
}

/** The run id that a workflow id of the form `run-<runId>` says; undefined for any other workflow id. */
export function runIdIn(workflowId: string): string | undefined {
  const [, runId = ""] = /^run-(.{36})$/.exec(workflowId) ?? [];
  return isRunId(runId) ? runId : undefined;
}
