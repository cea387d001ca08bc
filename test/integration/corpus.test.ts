import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createToolHost } from "../../src/index.js";
import { corpusPackage } from "../corpus/corpus-package.js";
import { ENV_SECRET, OUTSIDE_SECRET, ProjectTree } from "../corpus/project-tree.js";
import { documentOf, fields } from "../corpus/state-model.js";
import { bytesOf } from "../fakes/package-fixture.js";
import { type ScriptedCall, call } from "../fakes/scripted-model.js";
import { openBench, until } from "./harness.js";

const PATHS = [
  "",
  "/etc/passwd",
  "README.md",
  "C:\\x",
  "@projects/x",
  "@Project/README.md",
  "@project/../outside/secret.txt",
  "@project/src/../../outside",
  "@project/README.md\0",
  "@project/out-file",
  "@project/out-dir/new.txt",
  "@project/out-new",
  "@project/out-abs",
  "@project/to-environ",
  "@project/to-store/store.json",
  "@project/chain-1/secret.txt",
  "@project/loop-a",
  "@project/fifo",
  "@project/.env",
  "@project/sub/.ENV.Production",
  "@project/to-env",
  "@project/.git/config",
  "@project/src",
  "@project/README.md/x",
  `@project/${"n".repeat(300)}`,
  "@project/half\ud800",
  "@pkg/bmad.json",
  "@pkg/new.txt",
  "@pkg/../store.json",
  "@state/logs/execution.jsonl",
  "@state/../calls.jsonl",
];

const update = { variables: { set: { planted: 1 } } };
const onPaths = PATHS.flatMap((path): ScriptedCall[] => [
  call("fs_list", { path }),
  call("fs_read", { path }),
  call("fs_search", { path, pattern: "never-to-be-seen" }),
  call("fs_apply_patch", { path, patch: { operation: "updateFrontmatter", update } }),
  // What would be written here, one run would see of the other.
  ...(/^@project\/(?:src|README\.md\/x)$|^@(?:pkg|state)|out|loop|fifo|env|git|\.\./i.test(path)
    ? [call("fs_write", { path, content: "PLANTED" })]
    : []),
]);

const onArguments = [
  "fs_list",
  "fs_read",
  "fs_search",
  "fs_write",
  "fs_apply_patch",
  "fs_delete",
  "shell",
  "",
].flatMap((name) =>
  [
    "",
    "{",
    "null",
    "[]",
    "{}",
    '{"path":1}',
    '{"path":"@project","x":1}',
    "[".repeat(200),
    '{"__proto__":1}',
  ].map((text) => call(name, text)),
);

const STATE = "@state/workflow.md";
const onState = [
  ...[
    {},
    { status: { set: 1 } },
    { currentNodeId: { set: "finish" } },
    { currentNodeId: { set: "nowhere" } },
    { currentNodeId: { set: 1 } },
    { updatedAt: { set: "now" } },
    { stepsCompleted: { set: [] } },
  ].map((value) =>
    call("fs_apply_patch", { path: STATE, patch: { operation: "updateFrontmatter", update: value } }),
  ),
  call("fs_apply_patch", {
    path: STATE,
    patch: { operation: "updateFrontmatter", update, ifMatchSha256: "latest" },
  }),
  call("fs_apply_patch", { path: STATE, patch: { operation: "replace", update } }),
  ...[
    "",
    "no front matter",
    "---js\nprocess.exit(1)\n---\n",
    "---\na: 1\na: 2\n---\n",
    "---\na: &a [*a]\n---\n",
    "---\na: !!js/function x\n---\n",
    "---\n__proto__: 1\n---\n",
    "---\n---\n",
    "\ud800",
    documentOf(fields({ currentNodeId: "finish" })),
    documentOf(fields({ currentNodeId: "nowhere" })),
    documentOf(fields({ currentNodeId: null })),
    `${documentOf(fields())}${"x".repeat(100_001)}`,
    "no front matter ".repeat(10_000),
    `---\na: ${"x".repeat(131_072)}\n---\n`,
  ].map((content) => call("fs_write", { path: "@state/./workflow.md", content })),
  ...[documentOf(fields()), "no front matter"].map((content) =>
    call("fs_write", { path: STATE, content, ifMatchSha256: "0".repeat(64) }),
  ),
];

/** Each of these takes most of what the state updates of one answer may hold. */
const large = [{ a: "x".repeat(140_000) }, { a: Array.from({ length: 60_000 }, () => 0) }].map((set) =>
  call("fs_apply_patch", {
    path: STATE,
    patch: { operation: "updateFrontmatter", update: { variables: { set } } },
  }),
);

const ANSWERS = [...inGroups([...onPaths, ...onArguments, ...onState], 30), ...inGroups(large, 1)].map(
  (calls, answer) => calls.map((one, index) => ({ ...one, id: `corpus-${answer}-${index}` })),
);
const CALLS = ANSWERS.flat();

function inGroups<T>(items: readonly T[], size: number): T[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size));
}

/** What a result says whatever run it is of. */
function gist(result: unknown): unknown {
  const { ok, error } = result as { ok: boolean; error?: { code: string; message: string } };
  return ok ? "ok" : `${error?.code}: ${error?.message}`;
}

test("hostile calls come to the same through a run as without one", { tags: "slow" }, async () => {
  const bench = await openBench([...ANSWERS.map((calls) => ({ calls })), { content: "Enough." }]);
  const base = dirname(bench.projectRoot);
  for (const path of ["outside/secret.txt", "outside/dir/secret.txt", "secret.txt"]) {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), OUTSIDE_SECRET);
  }
  new ProjectTree(base, join(base, "templates")).build();
  const files = Object.entries(corpusPackage()).map(([path, content]) => [path, bytesOf(content).toString()]);
  const run = await bench.start(Object.fromEntries(files), { activeAgentId: "author" });
  await until(run, "waiting-user");

  const told = new Map(
    bench.model.requests
      .flatMap((request) => request.messages)
      .filter((message) => message.role === "tool")
      .map((message) => [message.tool_call_id, JSON.parse(message.content ?? "") as unknown]),
  );
  const shown = JSON.stringify([...told.values()]);
  for (const hidden of [base, OUTSIDE_SECRET, ENV_SECRET]) expect(shown).not.toContain(hidden);

  const [first] = await bench.store.packages.list();
  const packageId = first?.packageId ?? "";
  const { projectRoot, store } = bench;
  const other = await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" });
  if (!other.ok) throw new Error(other.error.message);
  const host = createToolHost({ store });
  const context = {
    projectRoot,
    packageId,
    workflowId: "corpus",
    runId: other.value.runId,
    agentId: "author",
  };
  const direct = new Map<string, unknown>();
  for (const { id, name, arguments: args } of CALLS) {
    const sent = typeof args === "string" ? args : JSON.stringify(args);
    // So servers write that a call has none: the model's answer is read so, the tool host takes what it is given.
    const argumentsJson = ["", "null"].includes(sent) ? "{}" : sent;
    direct.set(id, gist(await host.executeToolCall({ toolCallId: id, name, argumentsJson, context })));
  }
  expect(Object.fromEntries(CALLS.map(({ id }) => [id, gist(told.get(id))]))).toEqual(
    Object.fromEntries(direct),
  );

  const events = await bench.auditEvents(run);
  const audited = events.filter(({ kind }) => kind === "tool.exec").map(({ toolCallId }) => toolCallId);
  expect(audited).toHaveLength(CALLS.length);
  expect(new Set(audited)).toEqual(new Set(CALLS.map(({ id }) => id)));
});
