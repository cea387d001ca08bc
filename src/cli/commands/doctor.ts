import { examine } from "../../doctor/doctor.js";
import type { Finding } from "../../doctor/finding.js";
import { EXIT, type ExitCode, print, printJson, printNote } from "../terminal/output.js";

/** `interlock doctor`: what a run needs, looked at piece by piece. Failed when something would fail a run. */
export async function doctorCommand(options: { models?: boolean; json?: boolean }): Promise<ExitCode> {
  const findings = await examine({
    models: options.models !== false,
    onModels: (count) =>
      printNote(
        `Asking ${count === 1 ? "the model" : `${count} models`} for one call of a tool, twice, with at most 512 tokens each. Without: --no-models`,
      ),
  });
  if (options.json === true) printJson(findings);
  else printTable(findings);
  return findings.some(({ status }) => status === "failed") ? EXIT.failed : EXIT.done;
}

function printTable(findings: readonly Finding[]): void {
  const width = Math.max(...findings.map(({ name }) => name.length));
  for (const { name, status, found, remedy } of findings) {
    print(`${status.padEnd(7)}  ${name.padEnd(width)}  ${found}`);
    if (remedy !== undefined) print(`${" ".repeat(9)}→ ${remedy}`);
  }
  const count = (status: Finding["status"]) => findings.filter((finding) => finding.status === status).length;
  print(`${count("failed")} failed, ${count("warning")} to look at, ${count("ok")} in order.`);
}
