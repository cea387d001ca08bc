import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryDirectory } from "../fakes/package-fixture.js";
import { HISTORIES, changedHistories, keepHistory, recordedHistories } from "./histories.js";

/** The manifest's lines of each released version, hashed: here a change of them stands out once more. */
const RELEASED: Readonly<Record<string, string>> = {
  "0.1.0": "4b3f1966da3ff3c75fcb3bacba6ba929515a5a2ed572eec21bf9e4cde2b21ba4",
  "0.2.0": "a1bfc0847d85746ccf178d17d8a8f691fd050b9fd2dedc05a915114e9c593257",
};

/** A repository with two histories of an earlier version. */
async function repository() {
  const folder = await temporaryDirectory();
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=x", "-c", "user.email=x", ...args], { cwd: folder });
  const commit = () => {
    git("add", "-A");
    git("commit", "-qm", "x");
  };
  git("init", "-q");
  keepHistory("0.1.0/one.1.json", "1\n", folder);
  keepHistory("0.1.0/two.1.json", "2\n", folder);
  commit();
  return { folder, git, commit, at: (name: string) => join(folder, name) };
}

describe("the histories that are kept", () => {
  test("are what was recorded", () => {
    expect(changedHistories()).toEqual([]);
    for (const [version, hash] of Object.entries(RELEASED)) {
      const lines = readFileSync(join(HISTORIES, "SHA256SUMS"), "utf8").match(/.*\n/g) ?? [];
      const own = lines.filter((line) => line.slice(66).startsWith(`${version}/`)).join("");
      expect([version, createHash("sha256").update(own).digest("hex")]).toEqual([version, hash]);
    }
  });

  test("recording adds those of another version, and replaces or removes none", async () => {
    const { folder, commit, at } = await repository();
    expect(keepHistory("0.1.0/one.1.json", "other\n", folder)).toBe("is there");
    expect(keepHistory("0.2.0/one.1.json", "3\n", folder)).toBe("kept");
    commit();
    expect(readFileSync(at("0.1.0/one.1.json"), "utf8")).toBe("1\n");
    expect([...recordedHistories(folder).keys()]).toEqual([
      "0.1.0/one.1.json",
      "0.1.0/two.1.json",
      "0.2.0/one.1.json",
    ]);
    expect(changedHistories(folder)).toEqual([]);
  });

  test("one that was changed, removed or put there is found", async () => {
    const { folder, at } = await repository();
    writeFileSync(at("0.1.0/one.1.json"), "other\n");
    rmSync(at("0.1.0/two.1.json"));
    mkdirSync(at("0.3.0"));
    writeFileSync(at("0.3.0/three.1.json"), "3\n");
    expect(changedHistories(folder)).toEqual([
      "0.1.0/two.1.json is gone",
      "0.3.0/three.1.json is not in SHA256SUMS",
      "0.1.0/one.1.json is not what was recorded",
    ]);
  });

  test("one that was recorded anew with its line is found in the repository's past", async () => {
    const { folder, git, commit, at } = await repository();
    rmSync(at("0.1.0"), { recursive: true });
    rmSync(at("SHA256SUMS"));
    keepHistory("0.1.0/one.1.json", "other\n", folder);
    commit();
    const head = git("log", "-1", "--format=%h").toString().trim();
    expect(changedHistories(folder)).toEqual([`commit ${head} took 2 lines out of SHA256SUMS`]);
  });
});
