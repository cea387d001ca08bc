import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { expectAnswer } from "../../bench/other-server.js";
import { figuresBy, runProgram } from "../../bench/programs.js";
import { WrongUsage, count, fileToWrite, placeFor, positionals, wordsAmong } from "../../bench/usage.js";
import { freePort } from "../fakes/free-port.js";

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

  it("refuses a place where nothing could be written, before anything is measured", () => {
    const dir = mkdtempSync(join(tmpdir(), "interlock-usage-"));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const file = join(dir, "file");
    writeFileSync(file, "");
    expect([placeFor(dir, "--dir"), fileToWrite(file, "--json")]).toEqual([dir, file]);
    expect(fileToWrite(join(dir, "new"), "--json")).toBe(join(dir, "new"));
    for (const nowhere of [join(dir, "nosuch"), file]) {
      const refusal = new WrongUsage(
        `--dir: there is no directory ${nowhere}. Make it, or name another one.`,
      );
      expect(() => placeFor(nowhere, "--dir")).toThrow(refusal);
      expect(() => fileToWrite(join(nowhere, "x.json"), "--dir")).toThrow(refusal);
    }
    expect(() => fileToWrite(dir, "--json")).toThrow(`--json: ${dir} is a directory. Name a file.`);
  });

  it("says that another of them has failed, and reads what one writes that misses a target", async () => {
    const dir = mkdtempSync(join(tmpdir(), "interlock-usage-"));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const program = (name: string, text: string): string => {
      writeFileSync(join(dir, name), `import { writeFileSync } from "node:fs"; ${text}; process.exit(1);`);
      return pathToFileURL(join(dir, name)).href;
    };
    const broken = program("broken.mjs", "");
    const missing = program("missing.mjs", 'writeFileSync(process.argv[3], "7")');
    await expect(runProgram(broken, [])).rejects.toThrow("broken.mjs ended by 1.");
    await expect(figuresBy(broken, [])).rejects.toThrow("broken.mjs ended by 1.");
    await expect(figuresBy(missing, [])).resolves.toBe(7);
  });

  it("refuses a server that is not there, or whose process is not", async () => {
    await expectAnswer(undefined);
    const address = `127.0.0.1:${await freePort()}`;
    const nobody = expectAnswer({ address, pid: process.pid });
    await expect(nobody).rejects.toThrow(`--address: no Temporal answers at ${address} (`);
    await expect(nobody).rejects.toThrow(WrongUsage);
    await expect(expectAnswer({ address, pid: 4_194_304 })).rejects.toThrow(
      "--server-pid: there is no process 4194304.",
    );
  });
});
