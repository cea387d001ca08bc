/** The workflow id of a run that was given none: one run, one workflow id, through retries. */
export function workflowIdOf(runId: string): string {
  return `run-${runId}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Whether a text is a run's id: a UUID, in lower case only. It names a folder, and some file systems take two spellings for one. */
export function isRunId(text: string): boolean {
  return UUID.test(text);
}

/** The run id that a workflow id of the form `run-<runId>` says; undefined for any other workflow id. */
export function runIdIn(workflowId: string): string | undefined {
  const [, runId = ""] = /^run-(.{36})$/.exec(workflowId) ?? [];
  return isRunId(runId) ? runId : undefined;
}
