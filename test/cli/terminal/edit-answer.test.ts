import { readFile, readdir } from "node:fs/promises";
import { dirname } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { editAnswer } from "../../../src/cli/terminal/edit-answer.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

/** An editor whose last word is given the file's name, as all are: `"$1"` before it is the same. */
async function edited(commands: string, text = "Wie?") {
  const tmp = await temporaryDirectory();
  vi.stubEnv("TMPDIR", tmp);
  onTestFinished(() => void vi.unstubAllEnvs());
  const asked = { runId: "r", nodeId: "ask", question: "1.1", text };
  const answer = await editAnswer(`${commands}; true`, asked).catch((error: unknown) => String(error));
  return { answer, left: await readdir(tmp) };
}

describe("what was written in an editor", () => {
  test.each([
    ["that was killed with its terminal after it had saved", `printf 'Red.' >> "$1"; kill -HUP $$`, "SIGHUP"],
    ["that has failed after it had saved", `printf 'Red.' >> "$1"; exit 3`, "exit code 3"],
    ["that has saved another encoding", `printf 'R\\351d.' >> "$1"`, "is not UTF-8 text"],
    [
      "that has saved more than an answer may have",
      `head -c 65537 /dev/zero | tr '\\0' R >> "$1"; printf '\nRed.' >> "$1"`,
      "has more than the 65536 bytes",
    ],
    [
      "that has saved very much more",
      `head -c 900000 /dev/zero | tr '\\0' R >> "$1"; printf '\nRed.' >> "$1"`,
      "has more than the 65536 bytes",
    ],
  ])("is not lost in one %s", async (_, commands, why) => {
    const { answer } = await edited(commands);
    expect(answer).toContain(why);
    const file = /What was written lies in (\S+)$/.exec(answer)?.[1] ?? "";
    expect((await readFile(file, "latin1")).split("\n").at(-1)).toMatch(/^R.d\.$/);
  });

  test("lies in a file of the editor's own, where it was killed before it had saved", async () => {
    const { answer } = await edited(`printf 'Red.' > "$(dirname "$1")/.ANSWER.md.swp"; kill -TERM $$`);
    const file = /What was written lies in (\S+)$/.exec(answer)?.[1] ?? "";
    expect(await readdir(dirname(file))).toEqual([".ANSWER.md.swp", "ANSWER.md"]);
  });

  test("is nothing where it has failed with the file as it was: no file is left", async () => {
    expect(await edited("exit 1")).toEqual({ answer: expect.stringContaining("exit code 1"), left: [] });
  });

  test("is nothing where it has removed its file", async () => {
    const why = "The editor has removed its file: nothing was sent.";
    expect(await edited('rm "$1"')).toEqual({ answer: expect.stringMatching(`${why}$`), left: [] });
  });

  test("is sent without the mark that editors of Windows set before it, and without the comments below that", async () => {
    const commands = `printf '\\357\\273\\277' > "$1.new"; cat "$1" >> "$1.new"; printf 'Red.' >> "$1.new"; mv "$1.new" "$1"`;
    expect(await edited(commands)).toEqual({ answer: "Red.", left: [] });
  });
});

test("a question gives the editor no settings that Vim or Emacs would take from its text", async () => {
  const question =
    "A? vim: set nomodifiable:\n vi:tw=1\n Vim>600: ro\n ex: x\nLocal Variables:\neval: (beep)\nEnd:";
  const { answer } = await edited(`grep -v '>8' "$1" | tr -d '#' >> "$1"`, question);
  expect(answer).toContain("nomodifiable");
  expect(answer).toContain("(beep)");
  expect(answer).not.toMatch(/(?:vim?|ex)(?:[<=>]?\d+)?:|variables:/i);
});
