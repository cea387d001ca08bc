import { counted } from "../../core/text.js";
import { wholeFile } from "../../client/stores/store-reader.js";
import { ReadRefused } from "../../contract/reads.js";
import { verifyAuditBytes } from "../../store/runs/audit-verify.js";
import { knownHead } from "../report/known-head.js";
import { CommandError, EXIT, type ExitCode, print, printJson } from "../terminal/output.js";
import { notFound } from "../session/run-folder.js";
import { withRunOrFiles } from "../session/run-session.js";
import { wordsOf } from "../../core/system-code.js";
import type { JsonChoice } from "../options/common-options.js";

/** `interlock audit verify`: whether a run's audit log is whole, by its chain and by the head Temporal has kept. */
export async function auditVerifyCommand(runId: string, options: JsonChoice): Promise<ExitCode> {
  const verdict = await withRunOrFiles(runId, async ({ reader, run }) => {
    const known = await knownHead(run);
    const asked = { run: runId, name: "state/logs/execution.jsonl" };
    const log = await wholeFile(reader.bytes("read.file", asked)).catch((error: unknown) => {
      if (error instanceof ReadRefused && error.fault.code === "E_RUN_NOT_FOUND") {
        throw notFound(runId, error.fault);
      }
      const reason = wordsOf(error);
      throw new CommandError(`The audit log cannot be read: ${reason}`, { cause: error });
    });
    return { ...verifyAuditBytes(log, known), checkedAgainstTemporal: known !== undefined };
  });
  const ok = verdict.findings.length === 0;
  if (options.json === true) printJson({ ok, ...verdict });
  else {
    for (const finding of verdict.findings) print(`line ${finding.line}: ${finding.message}`);
    print(
      ok
        ? `The audit log is whole: ${counted(verdict.lines, "line")}.`
        : `${counted(verdict.findings.length, "finding")} in ${counted(verdict.lines, "line")}.`,
    );
  }
  return ok ? EXIT.done : EXIT.failed;
}
