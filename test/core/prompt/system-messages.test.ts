import { describe, expect, test } from "vitest";
import { agentSchema } from "../../../src/core/package/schemas.js";
import { BASE_RULES, renderPersona, renderToolPolicy } from "../../../src/core/prompt/system-messages.js";

const agent = (changes: object = {}) =>
  agentSchema.parse({
    id: "author",
    metadata: { name: "Ada", title: "Author", icon: "*" },
    persona: {
      role: "writes",
      identity: "a writer",
      communication_style: "plain",
      principles: ["short", "true"],
    },
    ...changes,
  });

test("the base rules speak of mounts, guard, advancing and real paths, and name no path of a machine", () => {
  for (const needed of [
    "@project/",
    "@pkg/",
    "@state/workflow.md",
    "updateFrontmatter",
    "allowedNext",
    "real path",
  ]) {
    expect(BASE_RULES).toContain(needed);
  }
  expect(BASE_RULES).not.toMatch(/\/(?:home|usr|tmp)\//u);
});

describe("the tool policy", () => {
  test("names the limits in bytes", () => {
    expect(renderToolPolicy({ fsEnabled: true, maxReadBytes: 123, maxWriteBytes: 456 })).toBe(`Tool policy:
- fs.read returns at most 123 bytes; for larger files use startLine and endLine, or fs.search.
- fs.write takes at most 456 bytes of content.
- Pass ifMatchSha256 to write only if the file is still as you read it.`);
  });

  test("says so when there are no tools", () => {
    expect(renderToolPolicy({ fsEnabled: false, maxReadBytes: 1, maxWriteBytes: 1 })).toBe(
      "Tool policy: the file tools are disabled for you. Answer in plain text.",
    );
  });

  test("says how a part of a file is changed where the agent may, and promises plain text to nobody who has other tools", () => {
    const limits = { maxReadBytes: 1, maxWriteBytes: 1 };
    expect(renderToolPolicy({ fsEnabled: true, mayEdit: true, ...limits })).toContain(
      "- To change a part of a file use fs.edit",
    );
    expect(renderToolPolicy({ fsEnabled: true, ...limits })).not.toContain("fs.edit");
    expect(renderToolPolicy({ fsEnabled: false, mayCallServers: true, ...limits })).toBe(
      "Tool policy: the file tools are disabled for you.",
    );
  });

  const RECORD =
    "- This run carries a story. When a step decides a gate (codeReview, qaVerify, uiuxReview, qaGate), record the decision with state.record before you move on: PASS, CONCERNS, FAIL, WAIVED or PENDING. Evidence and artifact paths are recorded the same way.";

  test("says what to record where the run carries a story", () => {
    const policy = { fsEnabled: true, maxReadBytes: 123, maxWriteBytes: 456 };
    expect(renderToolPolicy(policy, true)).toBe(`${renderToolPolicy(policy)}\n${RECORD}`);
  });

  test("says so too where that is the only tool", () => {
    expect(renderToolPolicy({ fsEnabled: false, maxReadBytes: 1, maxWriteBytes: 1 }, true)).toBe(
      `Tool policy:\n- The file tools are disabled for you.\n${RECORD}`,
    );
  });
});

describe("the persona", () => {
  const rendered = `You are Ada, Author.
Role: writes
Identity: a writer
Communication style: plain
Principles:
- short
- true`;

  test("is rendered from its parts", () => {
    expect(renderPersona(agent())).toBe(rendered);
  });

  test("has one principle where one is given, and critical actions where there are some", () => {
    const persona = { role: "r", identity: "i", communication_style: "c", principles: "only one" };
    expect(renderPersona(agent({ persona, critical_actions: ["first", "then"] }))).toBe(`You are Ada, Author.
Role: r
Identity: i
Communication style: c
Principles:
- only one
Critical actions:
- first
- then`);
  });

  test("is replaced by a system prompt, unless that is empty", () => {
    expect(renderPersona(agent({ systemPrompt: "Be a parrot." }))).toBe("Be a parrot.");
    expect(renderPersona(agent({ systemPrompt: "" }))).toBe(rendered);
  });
});
