import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { checkLeftovers } from "./check-files.js";
import { jsonLines } from "./check-records.js";
import type { Evidence } from "./evidence.js";
import { type Finding, doubled, lost } from "./finding.js";

/** What is in the store outside its runs, or should not be there any more. */
export async function checkStore({
  storeDir,
  packages,
  pruned,
  operations,
  plan,
  ofBackups,
}: Evidence): Promise<readonly Finding[]> {
  const findings = [...ofBackups, ...checkLeftovers(await readdir(storeDir), "the store")];
  for (const name of await readdir(join(storeDir, "projects")).catch(() => [])) {
    const dir = join(storeDir, "projects", name);
    findings.push(...checkLeftovers(await readdir(dir), "the store"));
    findings.push(...checkLeftovers(await readdir(join(dir, "runs")), "the store"));
    const trash = await readdir(join(dir, "trash")).catch(() => []);
    findings.push(...trash.map((runId) => doubled(`the trash still holds ${runId}.`)));
  }
  const isGone = new Set(pruned);
  for (const { runId, projectId } of operations) {
    if (isGone.has(runId))
      findings.push(...(await checkPruned(join(storeDir, "projects", projectId), runId)));
  }
  const used = new Set(plan.runs.filter(({ runId }) => !isGone.has(runId)).map(({ workflow }) => workflow));
  const there = new Set(await readdir(join(storeDir, "packages")).catch(() => []));
  for (const { workflow, oldest, own, newest } of packages) {
    if (!there.has(newest)) findings.push(lost(`the package ${newest}, the newest of its name, is gone.`));
    if (used.has(workflow) && !there.has(own))
      findings.push(lost(`the package ${own} is gone, and runs need it.`));
    for (const packageId of used.has(workflow) ? [oldest] : [oldest, own]) {
      if (there.has(packageId))
        findings.push(doubled(`the package ${packageId} is still there, and no run needs it.`));
    }
  }
  return findings;
}

async function checkPruned(projectDir: string, runId: string): Promise<readonly Finding[]> {
  const lines = (await jsonLines(join(projectDir, "runs.jsonl"))).filter((line) => line["runId"] === runId);
  return [
    ...(existsSync(join(projectDir, "runs", runId))
      ? [doubled(`the pruned run ${runId} still has files.`)]
      : []),
    ...(lines.at(-1)?.["pruned"] === undefined
      ? [doubled(`the index still lists the pruned run ${runId}.`)]
      : []),
  ];
}
