import { randomUUID } from "node:crypto";
import { signedInput } from "../../client/changes/launch-run.js";
import type { Config } from "../../config.js";
import { workflowIdOf } from "../../core/run/run-id.js";
import type { Store } from "../../store/store.js";
import { EXIT, type ExitCode, printJson } from "../terminal/output.js";
import { signerFor } from "../session/signer.js";
import type { PreparedRun } from "../follow/follow-and-report.js";

/** `--print-input`: what another client of Temporal starts this run with, once. Nothing is started. */
export async function printInput(config: Config, store: Store, prepared: PreparedRun): Promise<ExitCode> {
  const { workflow: type, input: request } = prepared;
  const workflowId = workflowIdOf(randomUUID());
  const sign = await signerFor(config, store);
  const input = await signedInput(sign, { workflow: type, workflowId, input: request });
  printJson({ workflowId, type, taskQueue: store.taskQueue, input });
  return EXIT.done;
}
