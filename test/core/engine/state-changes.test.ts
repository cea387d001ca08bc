import { describe, expect, test } from "vitest";
import {
  adoptDocument,
  changedDocument,
  listsFault,
  nodeAfter,
  passedOver,
  takeArtifact,
  takeDocument,
  takeMoved,
  tellArtifact,
} from "../../../src/core/engine/state-changes.js";
import { toResult } from "../../../src/core/engine/closing.js";
import { NOW, openedRecord, storyRecord } from "./record-world.js";

const AT = { carried: { stateSha256: "held" } };

function documentAt(currentNodeId: string, stepsCompleted: readonly string[]) {
  return {
    ...openedRecord().frontmatter,
    workflowType: "main",
    currentNodeId,
    stepsCompleted: [...stepsCompleted],
  };
}

function atDraft() {
  return openedRecord({ carried: { ...AT.carried, frontmatter: documentAt("draft", []) } });
}

describe("a change of the state document", () => {
  test.each([
    ["of the version the run holds is accepted", { ifMatchSha256: "held" }, undefined],
    ["of another version is refused", { ifMatchSha256: "other" }, "E_PRECONDITION_FAILED"],
    ["that names no version is accepted", {}, undefined],
  ])("%s", (_, match, code) => {
    const change = { kind: "patch", update: { variables: { set: { a: 1 } } }, ...match } as const;
    const accepted = { ok: true, value: { variables: { a: 1 }, updatedAt: NOW } };
    const expected = code === undefined ? accepted : { ok: false, error: { code } };
    expect(changedDocument(atDraft(), change, NOW)).toMatchObject(expected);
  });

  test("that goes where no edge leads is refused by the guard", () => {
    const change = { kind: "document", frontmatter: documentAt("done", ["draft"]) } as const;
    expect(changedDocument(atDraft(), change, NOW)).toMatchObject({
      ok: false,
      error: { code: "E_INVALID_TRANSITION" },
    });
  });

  test.each([
    ["a patch that moves on", { kind: "patch", update: { currentNodeId: { set: "done" } } }, "done"],
    ["a patch that stays", { kind: "patch", update: { variables: { set: {} } } }, "draft"],
    ["a document", { kind: "document", frontmatter: documentAt("review", []) }, "review"],
    ["a document without a place", { kind: "document", frontmatter: { currentNodeId: 1 } }, ""],
  ] as const)("says where the run would stand: %s", (_, change, nodeId) => {
    expect(nodeAfter(atDraft(), change)).toBe(nodeId);
  });

  test("may not lead on from a subworkflow that has not run; to stay there, and to go on from others, it may", () => {
    const { graph } = openedRecord().opened;
    const record = atDraft();
    const to = (nodeId: string) => ({ kind: "patch", update: { currentNodeId: { set: nodeId } } }) as const;
    expect(passedOver(record, to("done"))).toBeUndefined();
    const nodes = graph.nodes.map((node) => (node.id === "draft" ? { ...node, workflow: "part" } : node));
    record.open = { ...record.opened, graph: { ...graph, nodes } };
    expect(passedOver(record, to("draft"))).toBeUndefined();
    expect(passedOver(record, { kind: "patch", update: { variables: { set: {} } } })).toBeUndefined();
    expect(passedOver(record, to("done"))).toMatchObject({
      code: "E_INVALID_TRANSITION",
      details: { from: "draft", to: "done", allowedNext: [] },
    });
  });

  test("may not list what is no step or no path", () => {
    expect(listsFault(atDraft(), documentAt("draft", ["draft"]))).toBeUndefined();
    expect(listsFault(atDraft(), documentAt("draft", ["no id"]))).toMatchObject({
      code: "E_SCHEMA_VALIDATION",
    });
  });

  test("is taken over with its version; what is no document is not", () => {
    const record = atDraft();
    takeDocument(record, { ...documentAt("review", ["draft"]) }, "saved");
    expect([record.nodeId, record.carried.stateSha256]).toEqual(["review", "saved"]);
    takeDocument(record, { stepsCompleted: 1 }, "broken");
    expect([record.nodeId, record.carried.stateSha256]).toEqual(["review", "saved"]);
  });
});

test("an artifact that was written is listed, with the version that lists it", () => {
  const record = atDraft();
  takeArtifact(record, { artifact: "artifacts/a.md", sha256: "saved" }, NOW);
  expect(record.carried).toMatchObject({
    stateSha256: "saved",
    frontmatter: { artifacts: ["artifacts/a.md"], updatedAt: NOW },
  });
});

test("entries that were moved to files are counted: by the state that people see, and by the result", () => {
  const record = openedRecord({
    carried: { frontmatter: { ...documentAt("done", []), artifacts: ["a", "b", "c"] } },
  });
  const file = "@state/logs/artifacts.000001-000002.01234567.jsonl";
  const earlier = { artifacts: { count: 2, file, sha256: "0".repeat(64) } };
  takeMoved(record, { earlier, sha256: "moved" });
  expect(record.carried).toMatchObject({
    stateSha256: "moved",
    frontmatter: { artifacts: ["c"], earlierEntries: earlier },
  });
  const shown = { artifacts: ["c"], earlierArtifacts: 2 };
  expect(record.toRunState()).toMatchObject(shown);
  expect(toResult(record)).toMatchObject(shown);
});

test("the graph state is told of artifacts with a type, of their node", () => {
  const record = storyRecord();
  for (const [node, path] of [
    ["draft", "@project/artifacts/story.md"],
    ["draft", "@project/artifacts/other.md"],
    ["review", "@project/artifacts/story.md"],
  ] as const) {
    tellArtifact(record, node, path);
  }
  expect(record.carried.story?.state.artifactPaths).toEqual({ storyDoc: "artifacts/story.md" });
});

describe("a document that was changed from outside", () => {
  test("is gone on from where the graph allows it", () => {
    const record = atDraft();
    const frontmatter = documentAt("review", ["draft"]);
    expect(adoptDocument(record, { frontmatter, sha256: "theirs" })).toBeUndefined();
    expect([record.nodeId, record.carried.stateSha256]).toEqual(["review", "theirs"]);
    expect(record.carried.progress).toHaveLength(1);
  });

  test("is refused where the graph does not", () => {
    const record = atDraft();
    const fault = adoptDocument(record, { frontmatter: documentAt("done", ["draft"]), sha256: "theirs" });
    expect(fault).toMatchObject({
      code: "E_INVALID_TRANSITION",
      message: expect.stringMatching(/^The state document was changed from outside/) as string,
    });
    expect(record.carried.stateSha256).toBe("held");
  });
});
