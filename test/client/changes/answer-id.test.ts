import { expect, test } from "vitest";
import { WorkflowNotFoundError } from "@temporalio/common";
import { whyNotTaken } from "../../../src/client/changes/answer-id.js";
import { toInterlockError } from "../../../src/client/temporal/interlock-error.js";

const LONG = `x\n${"y".repeat(5_000)}`;

test("an id of a caller's that is as long as a text, and no line, stands in a sentence as its beginning", () => {
  const why = whyNotTaken(
    { nodeId: "ask", text: "Blue." },
    { accepted: true, nodeId: "ask", begins: "Red." },
    LONG,
  );
  expect(why).toMatch(/^The id "x y{100,120}…" is that of an earlier answer/);
  const unknown = toInterlockError(new WorkflowNotFoundError("not found", LONG, undefined), LONG);
  expect(String(unknown)).toMatch(/Temporal knows no run x y{100,120}…\.$/);
});
