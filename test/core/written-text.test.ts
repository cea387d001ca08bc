import { expect, test } from "vitest";
import { writtenText } from "../../src/core/written-text.js";

test.each<[string, Uint8Array, string]>([
  ["plain", Buffer.from("ä\r\n"), "ä\r\n"],
  ["with the mark of Windows' editors, which is taken away once", Buffer.from("\uFEFF\uFEFFa"), "\uFEFFa"],
  ["empty", Buffer.from(""), ""],
  ["one letter", Buffer.from("1"), "1"],
])("UTF-8 is read: %s", (_, bytes, text) => {
  expect(writtenText(bytes)).toEqual({ text });
});

test.each<[string, Buffer, RegExp]>([
  ["UTF-16", Buffer.from("\uFEFFü", "utf16le"), /UTF-16 text.*save it as UTF-8/],
  ["UTF-16 the other way round", Buffer.from("\uFEFFü", "utf16le").swap16(), /UTF-16/],
  ["UTF-16 without a mark", Buffer.from("a", "utf16le"), /UTF-16/],
  ["UTF-16 without a mark, the other way round", Buffer.from("a", "utf16le").swap16(), /UTF-16/],
  ["Latin-1", Buffer.from("ü", "latin1"), /not UTF-8 text: save it in that encoding/],
])("another encoding is named: %s", (_, bytes, problem) => {
  expect(writtenText(bytes)).toEqual({ problem: expect.stringMatching(problem) });
});
