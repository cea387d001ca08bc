import { shellWord } from "../core/text.js";
import { stat } from "node:fs/promises";
import { accessRefusal, isFileSystemRoot, realPathOf } from "../store/roots/root-places.js";
import { userHere } from "../store/runs/user-here.js";
import { DamagedRoots, type RegisteredRoot, type RootPolicy, Roots } from "../store/roots/roots.js";
import { type Finding, failed, passed, reasonOf } from "./finding.js";
import { isDenied, systemCode } from "../core/system-code.js";

/** Whether runs could work where they may: in the registered roots and in those of the settings. */
export async function checkRoots(storeDir: string, policy: RootPolicy): Promise<readonly Finding[]> {
  const roots = new Roots(storeDir, policy);
  let registered: readonly RegisteredRoot[];
  try {
    registered = roots.list();
  } catch (error) {
    if (!(error instanceof DamagedRoots)) throw error;
    return [failed("roots", error.message, "Do what the sentence says.")];
  }
  const problems = await Promise.all([
    ...registered.map((root) => checkRegistered(roots, root)),
    ...roots.configured.map(checkConfigured),
  ]);
  const found = problems.flatMap((problem) => problem ?? []);
  const count = problems.length - found.length;
  if (found.length > 0 && count === 0) return found;
  const usable = count === 0 ? "none yet: interlock run --project registers one" : `${count} usable`;
  return [passed("roots", usable), ...found];
}

async function checkRegistered(
  roots: Roots,
  { path, access: wanted, inode }: RegisteredRoot,
): Promise<Finding | undefined> {
  const name = "root";
  const remove = `interlock project remove ${shellWord(path)}`;
  const problem = await unusable(path, wanted);
  if (problem !== undefined) return failed(name, problem, `Mend it, or take it off the list: ${remove}`);
  if (roots.permits(path, wanted)) return undefined;
  const entry = await stat(path, { bigint: true });
  if (entry.isDirectory() && String(entry.ino) !== inode) {
    const again = `If runs may work there: interlock project add ${shellWord(path)}. If not: ${remove}`;
    return failed(name, `${path}: another directory lies there than the one that was registered`, again);
  }
  const verdict = roots.permit(path, wanted);
  return failed(name, verdict.ok ? path : verdict.error.message, `Take it off the list: ${remove}`);
}

async function checkConfigured(path: string): Promise<Finding | undefined> {
  const problem = isFileSystemRoot(realPathOf(path) ?? path)
    ? `${path} leads to the root of the file system, and permits nothing`
    : await unusable(path, "write");
  if (problem === undefined) return undefined;
  const remedy = "Mend it, or correct INTERLOCK_PROJECT_ROOTS or projectRoots in settings.json.";
  return failed("root", problem, remedy);
}

/** Why a root cannot be read, or written where that is wanted; undefined where it can. */
async function unusable(path: string, wanted: "read" | "write"): Promise<string | undefined> {
  const error = await accessRefusal(path, wanted);
  if (error === undefined) return undefined;
  const code = systemCode(error);
  if (code === "ENOENT" || code === "ENOTDIR") return `${path} is not there any more`;
  if (isDenied(code) || code === "EROFS") {
    return `${path} cannot be ${wanted === "write" ? "read and written" : "read"} by ${userHere()}, as whom this runs (${code})`;
  }
  return `${path}: ${reasonOf(error)}`;
}
