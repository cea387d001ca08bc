import { ApplicationFailure, proxyActivities } from "@temporalio/workflow";
import { isStoreQuestion } from "../contract/reads.js";
import type { ErrorCode } from "../core/errors.js";

const activities = proxyActivities<Record<string, (asked: unknown) => Promise<unknown>>>({
  startToCloseTimeout: "60 seconds",
  retry: { maximumAttempts: 1 },
});

/** Asks the store one question, for a server that has no activities without a workflow. What is asked is parsed there. */
export async function storeRead(name: unknown, asked: unknown): Promise<unknown> {
  const ask = typeof name === "string" && isStoreQuestion(name) ? activities[name] : undefined;
  if (ask !== undefined) return ask(asked);
  const code: ErrorCode = "E_SCHEMA_VALIDATION";
  throw ApplicationFailure.nonRetryable("A store cannot be asked that: there is no such question.", code);
}
