/** The page of a run in Temporal's Web UI that shows its current details: where it stands, and what it asks. */
export function webUrlOf(
  webUi: string | undefined,
  namespace: string,
  workflowId: string,
  executionRunId: string,
): string | null {
  if (webUi === undefined) return null;
  return `${webUi.replace(/\/$/, "")}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(workflowId)}/${executionRunId}/user-metadata`;
}
