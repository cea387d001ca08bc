import { Readable } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { userAnswers } from "../../../src/cli/terminal/answers.js";
import { commandOutput } from "../../fakes/command-output.js";

const output = commandOutput();

/** The answers in a standard input that comes in pieces of some bytes. */
async function answers(bytes: Uint8Array, size = 7): Promise<readonly string[]> {
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
  const input = Object.assign(Readable.from(pieces, { objectMode: false }), { fd: 0, isTTY: false });
  const spy = vi.spyOn(process, "stdin", "get").mockReturnValue(input as unknown as typeof process.stdin); // no other part of it is used
  onTestFinished(() => spy.mockRestore());
  const source = userAnswers();
  const given: string[] = [];
  for (let next = await source.next(); next !== undefined; next = await source.next()) given.push(next);
  source.close();
  return given;
}

test("each line of a piped text is an answer, without its end and without the mark of Windows' editors", async () => {
  const text = "\uFEFFRöt oder\u2028blau\r\n\n \nä\n\n😀 last";
  expect(await answers(Buffer.from(text))).toEqual(["Röt oder\u2028blau", "ä", "😀 last"]);
  expect(output.text).toBe("");
});

test("a line of Windows' that is as long as an answer may be is one", async () => {
  const longest = "x".repeat(65_536);
  expect(await answers(Buffer.from(`${longest}\r\nlast\r\n`), 1_001)).toEqual([longest, "last"]);
});

test.each([
  [
    "of another encoding",
    Buffer.from("one\nR\xe9d\nthree\n", "latin1"),
    "Line 2 of standard input is not UTF-8",
  ],
  [
    "that is too long",
    Buffer.from(`one\n${"ä".repeat(40_000)}\nthree\n`),
    "Line 2 of standard input has more",
  ],
  [
    "without an end",
    Buffer.from(`one\n${"ä".repeat(400_000)}`),
    "Line 2 of standard input has more than the 65536",
  ],
])("no line after one %s answers its question", async (_, bytes, why) => {
  expect(await answers(bytes, 1_001)).toEqual(["one"]);
  expect(output.text).toContain(why);
  expect(output.text).toContain("Neither that line nor one after it was sent");
});

test("UTF-16, as shells of Windows pipe it, is no answer", async () => {
  expect(await answers(Buffer.from("\uFEFFone\n", "utf16le"))).toEqual([]);
  expect(output.text).toContain("Line 1 of standard input is UTF-16 text");
});
