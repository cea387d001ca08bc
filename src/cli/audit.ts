import type { ChainHead } from "../store/audit-log.js";
import { verifyAuditLog } from "../store/audit-verify.js";
import { openEnvironment } from "./environment.js";
import { EXIT, type ExitCode, UsageError, print, printJson, printNote } from "./output.js";
import { referenceOf } from "./run-session.js";
import { openTemporalSession } from "./temporal-session.js";

/** `interlock audit verify`: whether a run's audit log is whole, by its chain and by the head Temporal has kept. */
export async function auditVerifyCommand(runId: string, options: { json?: boolean }): Promise<ExitCode> {
  const { config, store } = await openEnvironment();
  const found = await store.runs.findRun(runId);
  if (!found.ok) throw new UsageError(`${found.error.message} See: interlock runs`);
  const files = await store.runs.openFiles(found.value.projectId, found.value.runId);
  if (!files.ok) throw new UsageError(files.error.message);
  const session = await openTemporalSession(config, store);
  let known: ChainHead | undefined;
  try {
    known = await session.client.handle(referenceOf(found.value) ?? runId).auditHead();
  } catch (error) {
    printNote(`Temporal knows nothing of this run, so a cut tail cannot be seen (${String(error)}).`);
  } finally {
    await session.close();
  }
  const verdict = await verifyAuditLog(files.value.logFile, known);
  const ok = verdict.findings.length === 0;
  if (options.json === true) printJson({ ok, ...verdict, checkedAgainstTemporal: known !== undefined });
  else {
    for (const finding of verdict.findings) print(`line ${finding.line}: ${finding.message}`);
    print(
      ok
        ? `The audit log is whole: ${verdict.lines} lines.`
        : `${verdict.findings.length} findings in ${verdict.lines} lines.`,
    );
  }
  return ok ? EXIT.done : EXIT.failed;
}
