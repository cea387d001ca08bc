import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Histories of real runs: a folder for each version of the product that recorded them. */
export const HISTORIES = fileURLToPath(new URL("./histories", import.meta.url));
/** One line for each history, as `sha256sum` writes and checks it. Lines are only ever added. */
const MANIFEST = "SHA256SUMS";

/** Hash by name; a name is `<version>/<scenario>.<execution>.json`. */
export function recordedHistories(folder = HISTORIES): ReadonlyMap<string, string> {
  const manifest = join(folder, MANIFEST);
  const lines = existsSync(manifest) ? readFileSync(manifest, "utf8").split("\n").filter(Boolean) : [];
  return new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
}

/** Keeps a new history. One that is recorded stays as it is: then this does nothing and says so. */
export function keepHistory(name: string, json: string, folder = HISTORIES): "kept" | "is there" {
  if (recordedHistories(folder).has(name) || existsSync(join(folder, name))) return "is there";
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), json, { flag: "wx" });
  appendFileSync(join(folder, MANIFEST), `${hashOf(json)}  ${name}\n`);
  return "kept";
}

/** What is not as it was recorded, one sentence each; the manifest itself is held against its own past in git. */
export function changedHistories(folder = HISTORIES): readonly string[] {
  const recorded = recordedHistories(folder);
  const found = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".json"),
  );
  return [
    ...[...recorded.keys()].filter((name) => !found.includes(name)).map((name) => `${name} is gone`),
    ...found.filter((name) => !recorded.has(name)).map((name) => `${name} is not in ${MANIFEST}`),
    ...[...recorded]
      .filter(([name, hash]) => found.includes(name) && hashOf(readFileSync(join(folder, name))) !== hash)
      .map(([name]) => `${name} is not what was recorded`),
    ...removedLines(folder),
  ];
}

/** Commits that took a line out of the manifest. A clone that is shallow has fewer to look at, an archive has none. */
function removedLines(folder: string): readonly string[] {
  let log: string;
  try {
    log = execFileSync("git", ["log", "--format=commit %h", "--numstat", "--", MANIFEST], {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch {
    return [];
  }
  let commit = "";
  return log.split("\n").flatMap((line) => {
    if (line.startsWith("commit ")) commit = line.slice(7);
    const removed = /^\d+\t([1-9]\d*)\t/.exec(line)?.[1];
    return removed === undefined ? [] : [`commit ${commit} took ${removed} lines out of ${MANIFEST}`];
  });
}

function hashOf(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
