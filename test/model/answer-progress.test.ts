import { describe, expect, test } from "vitest";
import { visibleText } from "../../src/core/prompt/visible-text.js";
import type { AnswerPiece } from "../../src/core/run/answer-piece.js";
import { AnswerProgress } from "../../src/model/answer-progress.js";

/** What somebody has seen who watched these deltas, and how much was only counted. */
function watch(deltas: readonly object[], apiKey = "") {
  const pieces: AnswerPiece[] = [];
  const progress = new AnswerProgress((piece) => pieces.push(piece), apiKey);
  for (const delta of deltas) progress.delta({ ...delta });
  let text = "";
  let thinking = 0;
  for (const piece of pieces) {
    if (piece.type === "text") text += piece.text;
    if (piece.type === "restart") text = "";
    if (piece.type === "thinking") thinking += piece.characters;
  }
  return { text, thinking };
}

const cut = (text: string, size: number) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, at) => ({
    content: text.slice(at * size, (at + 1) * size),
  }));

describe("what is seen of a streamed answer", () => {
  test.each([
    "plain words",
    "<think>secret plan</think>the answer",
    "  <think>one</think> <thinking>two</thinking>the answer",
    "<THINK>secret plan</THINK>the answer",
    "begun by the server</think>the answer",
    "<think>never closed",
    "a < b and <thin air>",
    "text, then <think>shown</think> in the middle",
    "<th",
  ])("is what counts of it, however it is cut: %j", (text) => {
    for (const size of [1, 2, 3, 7, 100]) {
      const expected = text === "<th" ? "" : visibleText(text);
      expect(watch(cut(text, size)).text.trim()).toBe(expected.trim());
    }
  });

  test("thoughts in fields and parts of their own are counted", () => {
    const seen = watch([
      { reasoning_content: "12345" },
      {
        content: [
          { type: "thinking", text: "678" },
          { type: "text", text: "said" },
        ],
      },
      { reasoning: "90", content: " more" },
    ]);
    expect(seen).toEqual({ text: "said more", thinking: 10 });
  });

  test.each<[string, Record<string, unknown>]>([
    ["Mistral's parts", { content: [{ type: "thinking", thinking: [{ type: "text", text: "12345" }] }] }],
    ["MiniMax's details", { reasoning_details: [{ type: "reasoning.text", text: "12345" }] }],
    ["OpenRouter's text and details, once", { reasoning: "12345", reasoning_details: [{ text: "12345" }] }],
    ["a gateway's blocks", { thinking_blocks: [{ type: "thinking", thinking: "12345", signature: "s" }] }],
    ["a local server's field", { thinking: "12345" }],
  ])("thoughts are counted in %s", (_, delta) => {
    expect(watch([delta, { content: "said" }])).toEqual({ text: "said", thinking: 5 });
  });

  test.each<[string, (key: string) => string]>([
    ["as it is", (key) => key],
    ["percent-encoded", (key) => encodeURIComponent(key)],
    ["in base64", (key) => Buffer.from(key).toString("base64")],
    ["in hex", (key) => Buffer.from(key).toString("hex")],
    ["in a word without end", (key) => `${"x".repeat(5_000)}${key}${"y".repeat(5_000)}`],
  ])("never holds the request's key %s, however it is cut", (_, encode) => {
    const apiKey = "key/with+signs=0123456789";
    const said = `it is ${encode(apiKey)} indeed`;
    for (const size of [1, 5, 11, 1_000]) {
      const { text } = watch(cut(said, size), apiKey);
      expect(text).not.toContain(encode(apiKey).slice(0, 12).replace(/^x+$/, apiKey));
      expect(text).not.toContain(apiKey.slice(0, 12));
      expect(text).toContain("it is ");
    }
  });

  test("a call is its name and the bytes of its arguments so far", () => {
    const pieces: AnswerPiece[] = [];
    const progress = new AnswerProgress((piece) => pieces.push(piece));
    const call = { function: { name: "fs_write" } };
    progress.call(call, { function: { name: "fs_write", arguments: '{"é' } });
    progress.call(call, { function: { arguments: '":1}' } });
    expect(pieces).toEqual([
      { type: "call", index: 0, name: "fs_write", bytes: 4 },
      { type: "call", index: 0, name: "fs_write", bytes: 8 },
    ]);
  });
});
