import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const SRC = fileURLToPath(new URL("../../src", import.meta.url));

/** What a terminal is written to by: each would let names and texts through as they are. */
const WRITES =
  /\bprocess\s*(?:\??\.\s*(?:stdout|stderr|emitWarning|report\s*\??\.\s*(?!getReport\b)|_rawDebug)|\[)|\bconsole\b|\b(?:writeSync|writeFileSync)\(\s*[12]\b|\/dev\/(?:tty|stdout|stderr|fd\/)|node:(?:console|tty)|from "(?:console|tty)"/;

describe("what reaches a terminal", () => {
  test("is written in one place", () => {
    const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) =>
      file.endsWith(".ts"),
    );
    const writers = files.filter((file) => WRITES.test(readFileSync(join(SRC, file), "utf8")));
    // The one word of the gate is read through a pipe by the process that starts it.
    const expected = [join("cli", "terminal", "output.ts"), join("embedded", "gate-main.ts")];
    expect(writers.toSorted()).toEqual(expected);
  });

  test.each([
    "process.stdout.write(x)",
    "process . stderr",
    'process["stdout"]',
    "process.report.writeReport()",
    "console.log(1)",
    "writeSync(1, x)",
  ])("%s is seen", (code) => expect(code).toMatch(WRITES));
});
