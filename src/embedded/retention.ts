import { z } from "zod";
import { type OperatedNamespace, operatorCommand } from "./operator-command.js";

/** What the dev server gives its namespace by itself. */
const SERVERS_OWN = "86400s";
/** For so long an ended run can be looked at in the Web UI. */
const RETENTION = "30d";

const namespaceSchema = z.object({
  config: z.object({ workflowExecutionRetentionTtl: z.string() }),
});

/** Has ended runs kept for 30 days, where nobody has said for how long: the dev server forgets them after one. */
export async function keepEndedRuns(target: OperatedNamespace, signal?: AbortSignal): Promise<void> {
  const described = await operatorCommand(target, ["namespace", "describe", "--output", "json"], signal);
  const { config } = namespaceSchema.parse(JSON.parse(described));
  if (config.workflowExecutionRetentionTtl !== SERVERS_OWN) return;
  await operatorCommand(target, ["namespace", "update", "--retention", RETENTION], signal);
}
