import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Finding, compareLists, lost } from "./finding.js";
import { type PlannedRun, folderOf } from "./plan.js";
import { SESSION, manifestOf, outputRootOf } from "./plan-bundle.js";

interface Manifest {
  readonly runId: string;
  readonly status: string;
  readonly files: readonly { readonly path: string; readonly sha256: string }[];
}

/** Compares what a bundle run's session says of itself with the script; the files themselves are compared with the others. */
export async function checkSession(projectRoot: string, run: PlannedRun): Promise<readonly Finding[]> {
  const folder = folderOf(run);
  const manifest = await readFile(join(projectRoot, manifestOf(folder)), "utf8").then(
    (text) => JSON.parse(text) as Manifest, // the store writes it
    () => undefined,
  );
  if (manifest === undefined) return [lost("the manifest of its session cannot be read.")];
  const prefix = `${outputRootOf(folder)}/${SESSION}/`;
  const planned = Object.entries(run.end.files).flatMap(([path, hash]) =>
    path.startsWith(prefix) ? [`${path.slice(prefix.length)} ${hash}`] : [],
  );
  const files = manifest.files.map(({ path, sha256 }) => `${path} ${sha256}`);
  const findings = [...compareLists("files in the manifest", files, planned, "any order")];
  if (manifest.status !== "complete") findings.push(lost(`its session is ${manifest.status}, not complete.`));
  if (manifest.runId !== run.runId)
    findings.push(lost(`its session says that it is run ${manifest.runId}'s.`));
  return findings;
}
