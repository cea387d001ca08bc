import { describe, expect, it } from "vitest";
import { WrongUsage, count, positionals, wordsAmong } from "../../bench/usage.js";

describe("what the programs of the bench are asked for", () => {
  it.each(["", " ", "x", "1.5", "0", "-1", "1001", "1e9"])('takes no "%s" for a number', (text) => {
    expect(() => count(text, "--walks")).toThrow(WrongUsage);
  });

  it("names the option and what it takes", () => {
    expect(() => count("x", "--walks", 1, 9)).toThrow('--walks takes whole numbers from 1 to 9, not "x".');
  });

  it("knows its words and no others", () => {
    expect(wordsAmong(["live"], ["live", "paint"])).toEqual(["live"]);
    expect(() => wordsAmong(["live", "nope"], ["live", "paint"])).toThrow("There is no nope to measure.");
  });

  it("refuses what is too much, and options that it has not", () => {
    expect(positionals(["1", "2"], 2)).toEqual(["1", "2"]);
    expect(() => positionals(["1", "2", "3"], 2)).toThrow("There is nothing to do with 3.");
    expect(() => positionals(["--bogus"])).toThrow("--bogus");
  });
});
