import type { AuditHead } from "../../core/run/audit-head.js";
import { verifyAuditLog } from "../../store/runs/audit-verify.js";
import { interruption, openEnvironment } from "../environment.js";
import { CommandError, EXIT, type ExitCode, print, printJson, printNote } from "../output.js";
import { openRunFolder } from "../run-folder.js";
import { referenceOf } from "../run-session.js";
import { openTemporalSession } from "../temporal-session.js";

/** `interlock audit verify`: whether a run's audit log is whole, by its chain and by the head Temporal has kept. */
export async function auditVerifyCommand(runId: string, options: { json?: boolean }): Promise<ExitCode> {
  const { config, store } = await openEnvironment();
  const { run, files } = await openRunFolder(store, runId);
  const session = await openTemporalSession(config, store, interruption());
  let known: AuditHead | undefined;
  try {
    known = await session.client.handle(referenceOf(run) ?? runId).auditHead();
  } catch (error) {
    printNote(`Temporal knows nothing of this run, so a cut tail cannot be seen (${String(error)}).`);
  } finally {
    await session.close();
  }
  const verdict = await verifyAuditLog(files.logFile, known).catch((error: unknown) => {
    throw new CommandError(`The audit log cannot be read: ${error instanceof Error ? error.message : ""}`);
  });
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
