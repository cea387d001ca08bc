import { describe, expect, test } from "vitest";
import { listedNamesFault } from "../../../src/core/state/listed-names.js";

const NONE = { stepsCompleted: [], artifacts: [] };

describe("what an update may list", () => {
  test.each(["artifacts/a.md", "a", "artifacts/Ä b/☕️.md", "./artifacts/a.md", "artifacts/..a", "ab:c"])(
    "the artifact %j",
    (path) => expect(listedNamesFault(NONE, { ...NONE, artifacts: [path] })).toBeUndefined(),
  );

  test.each([
    "",
    " ",
    "/etc/passwd",
    "../../x",
    "artifacts/../../x",
    "artifacts/..",
    "..",
    "C:\\x",
    "C:x",
    "c:/x",
    "file:///etc/passwd",
    "artifacts\\..\\x",
    "artifacts/a\0",
    "artifacts/a\nRun 1: completed",
    "artifacts/\u001b[2J",
    "artifacts/\u202egpj",
    "artifacts/\u200b",
    "artifacts/\ud800",
    "a".repeat(300),
    "a/".repeat(3000),
  ])("not the artifact %j, and the refusal names its place", (path) => {
    const fault = listedNamesFault(NONE, { ...NONE, artifacts: ["artifacts/ok.md", path] });
    expect(fault).toMatchObject({
      code: "E_SCHEMA_VALIDATION",
      details: { errors: [{ path: "artifacts.1" }] },
    });
    expect(fault?.message).toContain("artifacts.1");
  });

  test.each(["", " ask", "ask\n", "a b", "../x", "\u202eask", "-x", "[x](y)"])("not the step %j", (id) => {
    expect(listedNamesFault(NONE, { ...NONE, stepsCompleted: [id] })).toMatchObject({
      code: "E_SCHEMA_VALIDATION",
      details: { errors: [{ path: "stepsCompleted.0" }] },
    });
  });

  test("not that older entries lie elsewhere: the runtime says it alone", () => {
    const artifacts = {
      count: 2,
      file: "@state/logs/artifacts.000001-000002.01234567.jsonl",
      sha256: "0".repeat(64),
    };
    const moved = { ...NONE, earlierEntries: { artifacts } };
    const fewer = { ...NONE, earlierEntries: { artifacts: { ...artifacts, count: 1 } } };
    const refusal = { code: "E_SCHEMA_VALIDATION", details: { errors: [{ path: "earlierEntries" }] } };
    expect(listedNamesFault(NONE, moved)).toMatchObject(refusal);
    expect(listedNamesFault(moved, NONE)).toMatchObject(refusal);
    expect(listedNamesFault(moved, fewer)).toMatchObject(refusal);
    expect(listedNamesFault(moved, { ...moved, artifacts: [] })).toBeUndefined();
  });

  test("what a document of an earlier version lists stays", () => {
    const old = { stepsCompleted: ["anything at all"], artifacts: ["../../x"] };
    expect(listedNamesFault(old, { ...old, stepsCompleted: ["anything at all", "ask"] })).toBeUndefined();
  });
});
