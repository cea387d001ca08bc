import { requestAtHand } from "../../client/begun-with.js";
import { defined } from "../../core/defined.js";
import { type GoOnOptions, goOn } from "../start/go-on.js";
import { modelOf } from "../options/model-options.js";
import { wholeNumber } from "../options/numbers.js";
import type { RunStatus } from "../../store/runs/status-file.js";
import { type ExitCode, printNote } from "../terminal/output.js";

interface RetryOptions extends GoOnOptions {
  readonly maxTurnsPerNode?: string;
  readonly maxTurnsPerRun?: string;
}

/** `interlock retry`: says what failed, then lets the run go on from its document. */
export async function retryCommand(runId: string, options: RetryOptions): Promise<ExitCode> {
  const limits = {
    ...(options.maxTurnsPerNode === undefined
      ? {}
      : { maxTurnsPerNode: wholeNumber("--max-turns-per-node", options.maxTurnsPerNode) }),
    ...(options.maxTurnsPerRun === undefined
      ? {}
      : { maxTurnsPerRun: wholeNumber("--max-turns-per-run", options.maxTurnsPerRun) }),
  };
  return goOn(runId, options, async ({ config, reader, session, run }) => {
    const model = modelOf(config, options);
    const facts = await reader.ask("read.run", { run: runId });
    const status = facts.ok ? (facts.value.status as RunStatus | null) : null; // the store has parsed it
    // One that has failed before it was opened has left its reason with Temporal alone.
    const fault = status?.fault ?? (await run.closedBy());
    const failed = fault && { nodeId: status?.nodeId ?? "", ...fault };
    if (failed !== undefined) {
      const where = failed.nodeId === "" ? "" : ` at ${failed.nodeId}`;
      printNote(`Failed${where}: ${failed.code}: ${failed.message}`);
    }
    const source = await requestAtHand(reader, run.runId);
    const retried = await session.client.retryFrom(source, run, { limits, ...defined({ model }) });
    return { run: retried, ...(failed === undefined ? {} : { more: { failedBefore: failed } }) };
  });
}
