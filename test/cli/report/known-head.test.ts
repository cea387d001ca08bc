import { expect, test } from "vitest";
import { InterlockError } from "../../../src/client/client.js";
import { knownHead } from "../../../src/cli/report/known-head.js";
import { commandOutput } from "../../fakes/command-output.js";

const output = commandOutput();
const refusing = (thrown: Error) => ({ auditHead: () => Promise.reject(thrown) });

test("where Temporal knows nothing of a run, what cannot be seen then is said, and no name of an error", async () => {
  const unknown = new InterlockError({ code: "E_RUN_NOT_FOUND", message: "Temporal knows no run x." });
  expect(await knownHead(refusing(unknown))).toBeUndefined();
  expect(output.text).toBe(
    "Temporal knows nothing of this run: whether the end of its audit log was cut off cannot be seen.\n",
  );
});

test("what Temporal knows and nobody here can read is not said to be unknown", async () => {
  const sealed = new InterlockError({ code: "E_PRECONDITION_FAILED", message: "There is no key k1 here." });
  expect(await knownHead(refusing(sealed))).toBeUndefined();
  expect(output.text).toContain("cannot be read (E_PRECONDITION_FAILED: There is no key k1 here.):");
  expect(output.text).not.toContain("knows nothing");
});
