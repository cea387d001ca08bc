import { expect, onTestFinished, test, vi } from "vitest";
import { fetchEnvironment, temporalEnvironment } from "../../src/embedded/helper-environment.js";

const NOBODY_KNOWN = 54_321;

test("Temporal is told of a home directory alone", () => {
  expect(Object.keys(temporalEnvironment())).toEqual(["HOME"]);
});

test.runIf(process.getuid?.() === 0)(
  "of a user that the machine does not know, as in a container, a name is told as well: the server would not start",
  () => {
    onTestFinished(() => {
      process.seteuid?.(0);
      vi.unstubAllEnvs();
    });
    vi.stubEnv("HOME", undefined);
    process.seteuid?.(NOBODY_KNOWN);
    expect(temporalEnvironment()).toEqual({ HOME: "/", USER: "interlock" });
    expect(fetchEnvironment({ PATH: "/bin" })).toEqual({ PATH: "/bin" });
  },
);
