import { expect, onTestFinished, test, vi } from "vitest";
import { countAloud } from "../../../src/cli/terminal/count-aloud.js";
import { commandOutput } from "../../fakes/command-output.js";

const output = commandOutput();

test("a step that takes long says how far it is every ten seconds, and a short one nothing", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const removed = countAloud((done, of: number) => `${done} of ${of} are removed …`);
  for (let run = 1; run <= 9; run += 1) {
    removed(40);
    vi.advanceTimersByTime(1_000);
  }
  expect(output.text).toBe("");
  for (let run = 10; run <= 25; run += 1) {
    vi.advanceTimersByTime(1_000);
    removed(40);
  }
  expect(output.text.split("\n")).toEqual(["10 of 40 are removed …", "20 of 40 are removed …", ""]);
});
