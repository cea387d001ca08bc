import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { chmod, mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Finding, isError } from "../../../src/core/package/findings.js";
import { loadPackage } from "../../fakes/load-package.js";
import {
  type PackageFixture,
  agent,
  bytesOf,
  stepDocument,
  temporaryDirectory,
  validPackage,
  workflowDocument,
  writePackage,
} from "../../fakes/package-fixture.js";
import { withoutRights } from "../../fakes/unprivileged.js";

const files = validPackage();
const manifest = files["bmad.json"];
const graph = files["workflow.graph.json"];
const [draft, done] = graph.nodes;
const [edge] = graph.edges;

const withManifest = (change: object): PackageFixture => ({
  ...files,
  "bmad.json": { ...manifest, ...change },
});
const withEntry = (change: object) => withManifest({ entry: { ...manifest.entry, ...change } });
const withGraph = (change: object): PackageFixture => ({
  ...files,
  "workflow.graph.json": { ...graph, ...change },
});
const without = (...paths: string[]): PackageFixture =>
  Object.fromEntries(Object.entries(files).filter(([path]) => !paths.includes(path)));

async function load(fixture: PackageFixture) {
  return loadPackage(await writePackage(await temporaryDirectory(), fixture));
}

const places = (findings: readonly Finding[]) =>
  findings.map(({ severity, file, path }) => `${severity} ${file} ${path}`);

describe("loadPackage", () => {
  test("loads a valid package without a finding", async () => {
    const { findings, package: loaded } = await load(files);
    expect(findings).toEqual([]);
    expect(loaded?.manifest.name).toBe("Tiny Story");
    expect(loaded?.agents.map(({ id }) => id)).toEqual(["author"]);
    const [workflow] = loaded?.workflows ?? [];
    expect(loaded?.workflows).toHaveLength(1);
    expect(workflow).toMatchObject({
      id: "tiny",
      isEntry: true,
      workflowFile: "workflow.md",
      graphFile: "workflow.graph.json",
      graph: { entryNodeId: "draft", nodes: [{ id: "draft" }, { id: "done" }] },
      frontmatter: { schemaVersion: "1.1", currentNodeId: "", stepsCompleted: [], variables: {} },
    });
    expect([...(workflow?.steps.keys() ?? [])]).toEqual(["draft", "done"]);
    expect(Buffer.from(workflow?.document ?? []).toString()).toBe(files["workflow.md"]);
  });

  test("tolerates byte-order marks, $schema keys, dot segments and carriage returns", async () => {
    const bom = "\ufeff";
    const { findings } = await load({
      ...files,
      "bmad.json": `${bom}${JSON.stringify({
        ...manifest,
        $schema: "x",
        entry: { ...manifest.entry, graph: "./workflow.graph.json" },
      })}`,
      "workflow.md": `${bom}${files["workflow.md"].replaceAll("\n", "\r\n")}`,
      "steps/draft.md": `${bom}${files["steps/draft.md"]}`,
    });
    expect(findings).toEqual([]);
  });

  test("says that there is no directory", async () => {
    const report = await loadPackage(join(await temporaryDirectory(), "nothing"));
    expect(places(report.findings)).toEqual(["error . $"]);
  });
});

describe("which workflows are loaded", () => {
  const other = {
    "workflows/b/workflow.md": workflowDocument("second"),
    "workflows/b/graph.json": graph,
  };
  const listed = { id: "b", workflow: "workflows/b/workflow.md", graph: "workflows/b/graph.json" };
  const entry = { id: "a", workflow: "./workflow.md", graph: "workflow.graph.json" };
  const idsOf = async (fixture: PackageFixture) =>
    (await load(fixture)).package?.workflows.map(({ id, isEntry }) => [id, isEntry]);

  test("listed ones by their ids, and the entry beside them by its document's type", async () => {
    expect(await idsOf({ ...withManifest({ workflows: [listed] }), ...other })).toEqual([
      ["b", false],
      ["tiny", true],
    ]);
  });

  test("an entry that repeats a listed one is loaded once, under the listed id", async () => {
    expect(await idsOf({ ...withManifest({ workflows: [listed, entry] }), ...other })).toEqual([
      ["b", false],
      ["a", true],
    ]);
  });

  test("a broken workflow that no entry names is found as well", async () => {
    const fixture = withManifest({ workflows: [entry, { ...listed, graph: "workflows/b/none.json" }] });
    expect(places((await load({ ...fixture, ...other })).findings)).toEqual([
      "error bmad.json $.workflows[1].graph",
    ]);
  });

  test("thousands of workflows on one graph cost one graph", async () => {
    const workflows = Array.from({ length: 5000 }, (_, index) => ({ ...entry, id: `w${index}` }));
    expect(await idsOf(withManifest({ workflows }))).toHaveLength(5000);
  });
});

describe("what the schemas refuse, with file and JSON path", () => {
  test.each<[string, PackageFixture, string]>([
    ["a missing key", withManifest({ name: undefined }), "error bmad.json $.name"],
    ["an unknown key", withManifest({ "odd key": 1 }), 'error bmad.json $["odd key"]'],
    ["an unknown key below", withEntry({ more: 1 }), "error bmad.json $.entry.more"],
    ["another format", withManifest({ schemaVersion: "2.0" }), "error bmad.json $.schemaVersion"],
    ["a false version", withManifest({ version: "one" }), "error bmad.json $.version"],
    [
      "no agents",
      { ...files, "agents.json": { schemaVersion: "1.1", agents: [] } },
      "error agents.json $.agents",
    ],
    [
      "a false node type",
      withGraph({ nodes: [{ ...draft, type: "begin" }, done] }),
      "error workflow.graph.json $.nodes[0].type",
    ],
    [
      "an edge without a label",
      withGraph({ edges: [{ ...edge, label: "" }] }),
      "error workflow.graph.json $.edges[0].label",
    ],
    [
      "a state list that is none",
      { ...files, "workflow.md": "---\nschemaVersion: 1.1\nworkflowType: t\nstepsCompleted: a\n---\n" },
      "error workflow.md $.stepsCompleted",
    ],
    [
      "a step without an id",
      { ...files, "steps/draft.md": '---\nschemaVersion: "1.1"\ntype: step\n---\n' },
      "error steps/draft.md $.nodeId",
    ],
    [
      "a step id that YAML takes for a number",
      { ...files, "steps/draft.md": stepDocument("1", "step") },
      "error steps/draft.md $.nodeId",
    ],
  ])("%s", async (_, fixture, place) => {
    const report = await load(fixture);
    expect(places(report.findings)).toEqual([place]);
    expect(report.package).toBeUndefined();
  });

  test("in one file hides nothing in others, and little in its own", async () => {
    const { findings, package: loaded } = await load({
      ...withManifest({ schemaVersion: "1.0", colour: "red" }),
      "agents.json": '{\n"agents": [,\n',
      "workflow.graph.json": {
        ...graph,
        nodes: [
          { ...draft, type: "decide", outputs: ["/etc/x", 1] },
          { ...done, file: "steps/none.md" },
        ],
        edges: [
          { ...edge, label: "", conditionExpr: "x == 1" },
          { ...edge, to: "nowhere" },
        ],
      },
      "workflow.md": "---\nschemaVersion: 1.1\nworkflowType: t\nvariables: { a: .inf }\n---\n",
      "steps/draft.md": stepDocument("other", "merge"),
    });
    expect(loaded).toBeUndefined();
    const told = findings.filter(isError).map(({ file, line, path }) => `${file}:${line ?? "-"} ${path}`);
    expect(told.map((place) => place.replace(/(workflow\.graph\.json):\d+/, "$1"))).toEqual([
      "bmad.json:2 $.schemaVersion",
      "bmad.json:10 $.colour",
      "agents.json:2 $.agents[0]",
      "workflow.md:4 $",
      "workflow.graph.json $.nodes[0].type",
      "workflow.graph.json $.nodes[0].outputs[1]",
      "workflow.graph.json $.edges[0].label",
      "workflow.graph.json $.edges[0].conditionExpr",
      "workflow.graph.json $.edges[1].to",
      "steps/draft.md:3 $.nodeId",
      "workflow.graph.json $.nodes[1].file",
    ]);
  });

  const calling = (type: string, workflows: readonly unknown[]): PackageFixture => ({
    ...withManifest({ workflows }),
    "below.json": { ...graph, entryNodeId: "done", nodes: [done], edges: [] },
    "workflow.graph.json": {
      ...graph,
      nodes: [draft, { id: "call", type, file: "steps/call.md", workflow: "below" }, done],
      edges: [edge, { ...edge, to: "call" }, { from: "call", to: "done", label: "called" }],
    },
    "steps/call.md": stepDocument("call", "subworkflow"),
  });
  const listed = [
    { id: "tiny", workflow: "workflow.md", graph: "workflow.graph.json" },
    { id: "below", workflow: "workflow.md", graph: "below.json" },
  ];

  test.each<[string, PackageFixture, string]>([
    ["an end", withGraph({ nodes: [draft, { ...done, type: "End" }] }), "$.nodes[1].type"],
    ["a subworkflow", calling("sub-workflow", listed), "$.nodes[1].type"],
    ["a list that nodes name", calling("subworkflow", [...listed, 3]), "$.workflows[2]"],
    ["a label", withGraph({ edges: [{ ...edge, label: "" }] }), "$.edges[0].label"],
    ["a default", withGraph({ edges: [{ ...edge, isDefault: "true" }] }), "$.edges[0].isDefault"],
    ["outputs", withGraph({ nodes: [{ ...draft, outputs: "a.md" }, done] }), "$.nodes[0].outputs"],
    ["a misspelt key", withGraph({ nodes: [{ ...draft, output: ["a.md"] }, done] }), "$.nodes[0].output"],
  ])("of %s has nothing told that would not be so without it", async (_, fixture, place) => {
    const step = {
      schemaVersion: "1.1",
      nodeId: "draft",
      type: "step",
      outputs: ["a.md"],
      transitions: [{ to: "done", label: edge?.label ?? "", isDefault: true }],
    };
    const { findings } = await load({
      ...fixture,
      "steps/draft.md": `---\n${JSON.stringify(step)}\n---\nWrite.\n`,
    });
    expect(findings.map(({ path, message }) => `${path} ${message}`)).toEqual([
      expect.stringContaining(`${place} `),
    ]);
  });

  test("sentences say the remedy", async () => {
    const { findings } = await load({
      ...withManifest({ name: undefined, createdAt: "soon", surprise: 1, version: 1 }),
    });
    expect(findings.map(({ path, message }) => `${path} ${message}`)).toEqual([
      "$.name is missing: add it as text",
      "$.version must be text, not 1: put it in quotes",
      '$.createdAt must be an ISO date and time with zone, such as 2025-01-31T09:30:00Z, not "soon"',
      "$.surprise is no key of this format: remove or rename it",
    ]);
    const broken = await load({
      ...files,
      "workflow.graph.json": {
        ...graph,
        nodes: [{ id: "a b", file: "f", inputs: [null] }],
        edges: [{ ...edge, isDefault: "yes", conditionExpr: [] }],
      },
      "agents.json": {
        schemaVersion: "1.1",
        agents: [{ ...agent("a"), persona: { role: 1, identity: "", communication_style: {} } }],
      },
    });
    expect(broken.findings.map(({ path, message }) => `${path} ${message}`)).toEqual([
      "$.agents[0].persona.role must be text, not 1: put it in quotes",
      "$.agents[0].persona.communication_style must be text, not an object",
      "$.agents[0].persona.principles is missing. must be a text or a list of at least one text",
      '$.nodes[0].id must start with a letter or digit and go on with letters, digits and . _ : -, not "a b"',
      "$.nodes[0].type is missing: add one of step, decision, merge, end, subworkflow",
      "$.nodes[0].inputs[0] must be text, not null",
      '$.edges[0].isDefault must be true or false, not "yes"',
      "$.edges[0].conditionExpr must be an object, not a list",
      '$.entryNodeId "draft" is not the id of a node (there are: a b)',
      '$.edges[0].from "draft" is not the id of a node (there are: a b)',
      '$.edges[0].to "done" is not the id of a node (there are: a b)',
      '$.nodes[0].file names the file "f", which the package does not have: add it',
    ]);
  });
});

test("a merge whose step file says nothing, white space apart, is one that runs go through", async () => {
  const merging = (text: string): PackageFixture => ({
    ...files,
    "workflow.graph.json": {
      ...graph,
      nodes: [{ id: "draft", type: "merge", file: "steps/draft.md" }, done],
    },
    "steps/draft.md": `---\nschemaVersion: "1.1"\nnodeId: draft\ntype: merge\n---\n${text}`,
  });
  const passes = async (text: string) =>
    (await load(merging(text))).package?.workflows[0]?.graph.nodes[0]?.passes;
  await expect(Promise.all(["", "\r\n \t\n", "Compare.\n"].map(passes))).resolves.toEqual([
    true,
    true,
    undefined,
  ]);
});

describe("what loading refuses beyond the schemas", () => {
  test.each<[string, PackageFixture, string[]]>([
    [
      "duplicate node ids",
      withGraph({ nodes: [draft, done, done] }),
      ["error workflow.graph.json $.nodes[2].id"],
    ],
    [
      "an entry that is no node",
      withGraph({ entryNodeId: "x" }),
      [
        "error workflow.graph.json $.entryNodeId",
        "warning workflow.graph.json $.nodes[0]",
        "warning workflow.graph.json $.nodes[1]",
        "warning workflow.graph.json $.nodes",
      ],
    ],
    [
      "an edge from no node",
      withGraph({ edges: [edge, { from: "x", to: "done", label: "l" }] }),
      ["error workflow.graph.json $.edges[1].from"],
    ],
    [
      "an edge to no node",
      withGraph({ edges: [edge, { from: "draft", to: "x", label: "l" }] }),
      ["error workflow.graph.json $.edges[1].to"],
    ],
    [
      "two defaults out of one node",
      withGraph({
        edges: [
          { ...edge, isDefault: true },
          { ...edge, isDefault: true },
        ],
      }),
      ["error workflow.graph.json $.edges[1].isDefault", "warning workflow.graph.json $.edges[1]"],
    ],
    [
      "a node's agent that agents.json lacks",
      withGraph({ nodes: [{ ...draft, agentId: "autor" }, done] }),
      ["error workflow.graph.json $.nodes[0].agentId"],
    ],
    [
      "a step's agent that agents.json lacks",
      {
        ...files,
        "steps/draft.md": stepDocument("draft", "step").replace("---\nDo", "agentId: nobody\n---\nDo"),
      },
      ["error steps/draft.md $.agentId"],
    ],
    [
      "a step file with another node id",
      { ...files, "steps/draft.md": stepDocument("other", "step") },
      ["error steps/draft.md $.nodeId"],
    ],
    [
      "a step file with another type",
      { ...files, "steps/draft.md": stepDocument("draft", "merge") },
      ["error steps/draft.md $.type"],
    ],
    [
      "one step file for two nodes",
      withGraph({ nodes: [draft, { ...done, file: "steps/draft.md" }] }),
      ["error steps/draft.md $.nodeId", "error steps/draft.md $.type"],
    ],
    [
      "a subworkflow of a workflow that is not listed",
      {
        ...withGraph({ nodes: [{ ...draft, type: "subworkflow", workflow: "tiny" }, done] }),
        "steps/draft.md": stepDocument("draft", "subworkflow"),
      },
      ["error workflow.graph.json $.nodes[0].workflow"],
    ],
    ["no manifest", without("bmad.json"), ["error bmad.json $"]],
    ["a missing agents file", without("agents.json"), ["error bmad.json $.entry.agents"]],
    ["a missing workflow document", without("workflow.md"), ["error bmad.json $.entry.workflow"]],
    ["a missing graph", without("workflow.graph.json"), ["error bmad.json $.entry.graph"]],
    ["a missing step file", without("steps/done.md"), ["error workflow.graph.json $.nodes[1].file"]],
    [
      "a folder where a file should be",
      withGraph({ nodes: [{ ...draft, file: "steps" }, done] }),
      ["error workflow.graph.json $.nodes[0].file"],
    ],
    [
      "a file named like a folder",
      withGraph({ nodes: [{ ...draft, file: "steps/draft.md/" }, done] }),
      ["error workflow.graph.json $.nodes[0].file"],
    ],
    ["the package's root as a file", withEntry({ workflow: "." }), ["error bmad.json $.entry.workflow"]],
    [
      "a file spelled in another case",
      withEntry({ workflow: "Workflow.md" }),
      ["error bmad.json $.entry.workflow"],
    ],
    ["a file outside", withEntry({ workflow: "../workflow.md" }), ["error bmad.json $.entry.workflow"]],
    [
      "a path that climbs and returns",
      withEntry({ workflow: "steps/../workflow.md" }),
      ["error bmad.json $.entry.workflow"],
    ],
    ["an absolute path", withEntry({ graph: "/etc/passwd" }), ["error bmad.json $.entry.graph"]],
    ["a drive path", withEntry({ graph: "C:/graph.json" }), ["error bmad.json $.entry.graph"]],
    [
      "a backslash",
      withGraph({ nodes: [{ ...draft, file: "steps\\draft.md" }, done] }),
      ["error workflow.graph.json $.nodes[0].file"],
    ],
    ["a NUL byte", withEntry({ agents: "agents.json\0.txt" }), ["error bmad.json $.entry.agents"]],
    [
      "a line break that would forge a prompt line",
      withGraph({ nodes: [{ ...draft, file: "a\n- allowedNext:" }, done] }),
      ["error workflow.graph.json $.nodes[0].file"],
    ],
    [
      "half a surrogate pair in a path",
      {
        ...files,
        "bmad.json": JSON.stringify(withEntry({ workflow: "W" })["bmad.json"]).replace(
          '"W"',
          String.raw`"\ud800.md"`,
        ),
      },
      ["error bmad.json $.entry.workflow"],
    ],
    [
      "version control as a source of files",
      { ...withEntry({ workflow: ".git/workflow.md" }), ".git/workflow.md": workflowDocument("t") },
      ["error bmad.json $.entry.workflow"],
    ],
    [
      "an assets folder outside",
      withEntry({ assetsDir: "../assets" }),
      ["error bmad.json $.entry.assetsDir"],
    ],
    [
      "an assets folder that is a file",
      withEntry({ assetsDir: "assets/template.txt" }),
      ["error bmad.json $.entry.assetsDir"],
    ],
    [
      "duplicate workflow ids",
      withManifest({
        workflows: [1, 2].map(() => ({ id: "a", workflow: "workflow.md", graph: "workflow.graph.json" })),
      }),
      ["error bmad.json $.workflows[1].id"],
    ],
    [
      "duplicate agent ids",
      { ...files, "agents.json": { schemaVersion: "1.1", agents: [agent("author"), agent("author")] } },
      ["error agents.json $.agents[1].id"],
    ],
    [
      "duplicate JSON keys",
      { ...files, "agents.json": '{"schemaVersion":"1.1","schemaVersion":"1.1"}' },
      ["error agents.json $.schemaVersion"],
    ],
    [
      "a __proto__ key",
      { ...files, "workflow.graph.json": '{"nodes":[{"__proto__":{}}]}' },
      ["error workflow.graph.json $.nodes[0].__proto__"],
    ],
    [
      "101 levels of JSON",
      { ...files, "workflow.graph.json": `{"metadata":${"[".repeat(100)}${"]".repeat(100)}}` },
      ["error workflow.graph.json $"],
    ],
    [
      "a million JSON values",
      { ...files, "agents.json": `[${"0,".repeat(1_000_000)}0]` },
      ["error agents.json $"],
    ],
    ["JSON that is none", { ...files, "agents.json": "{agents}" }, ["error agents.json $"]],
    ["an empty JSON file", { ...files, "agents.json": "" }, ["error agents.json $"]],
    [
      "a JSON file that is not UTF-8",
      { ...files, "agents.json": Buffer.from([0x7b, 0xff, 0x7d]) },
      ["error agents.json $"],
    ],
    [
      "a step file that is not UTF-8",
      { ...files, "steps/done.md": Buffer.concat([bytesOf(files["steps/done.md"]), Buffer.from([0xff])]) },
      ["error steps/done.md $"],
    ],
    [
      "UTF-16",
      { ...files, "workflow.md": Buffer.from(`\ufeff${files["workflow.md"]}`, "utf16le") },
      ["error workflow.md $"],
    ],
    [
      "a document without front matter",
      { ...files, "workflow.md": "# no front matter\n" },
      ["error workflow.md $"],
    ],
    [
      "front matter in another language",
      { ...files, "workflow.md": files["workflow.md"].replace("---", "---js") },
      ["error workflow.md $"],
    ],
    [
      "front matter that is not YAML",
      { ...files, "steps/draft.md": "---\na: [\n---\n" },
      ["error steps/draft.md $"],
    ],
    [
      "a text file beyond all reason",
      { ...files, "steps/draft.md": `${files["steps/draft.md"]}${"x".repeat(4 * 1024 * 1024)}` },
      ["error steps/draft.md $"],
    ],
  ])("%s", async (_, fixture, expected) => {
    const report = await load(fixture);
    expect(places(report.findings)).toEqual(expected);
    expect(report.package).toBeUndefined();
  });

  test("texts that are too large together are not all parsed", async () => {
    const ids = ["a", "b", "c", "d", "e"];
    const nodes = ids.map((id) => ({ id, type: "step", file: `steps/${id}.md` }));
    const large = (id: string) => `${stepDocument(id, "step")}${"x".repeat(3_900_000)}`;
    const edges = ["b", "c", "d", "e"].map((to) => ({ from: "a", to, label: to }));
    const fixture = {
      ...withGraph({ entryNodeId: "a", nodes, edges }),
      ...Object.fromEntries(ids.map((id) => [`steps/${id}.md`, large(id)])),
    };
    expect((await load(fixture)).findings[0]).toMatchObject({
      severity: "error",
      file: ".",
      message: expect.stringContaining("larger than 16777216 bytes together"),
    });
  });

  test("a graph of 256 KiB is taken, one byte more is not", async () => {
    const text = JSON.stringify(graph);
    const padded = (bytes: number) => ({ ...files, "workflow.graph.json": text.padEnd(bytes, " ") });
    expect((await load(padded(256 * 1024))).findings).toEqual([]);
    const { findings } = await load(padded(256 * 1024 + 1));
    expect(findings).toMatchObject([
      {
        severity: "error",
        file: "workflow.graph.json",
        path: "$",
        message: expect.stringContaining("262144"),
      },
    ]);
  });

  test("names the agents there are", async () => {
    const agents = { schemaVersion: "1.1", agents: [agent("author"), agent("reviewer")] };
    const nodes = [{ ...draft, agentId: "autor" }, done];
    const { findings } = await load({ ...withGraph({ nodes }), "agents.json": agents });
    expect(findings[0]?.message).toBe(
      'node "draft" names the agent "autor", which agents.json does not have (it has: author, reviewer)',
    );
  });

  test("says how a file is really spelled, and where a lost one lies", async () => {
    const messages = async (fixture: PackageFixture) => (await load(fixture)).findings[0]?.message;
    expect(await messages(withEntry({ workflow: "Workflow.md" }))).toBe(
      'names "Workflow.md", but the file is called "workflow.md": spell it exactly so',
    );
    expect(await messages(withEntry({ workflow: "docs/workflow.md" }))).toBe(
      'names the file "docs/workflow.md", which the package does not have: add it, or did you mean workflow.md',
    );
  });

  test("a package one folder down is pointed at", async () => {
    const inner = Object.fromEntries(
      Object.entries(files).map(([path, content]) => [`tiny/${path}`, content]),
    );
    const { findings } = await load(inner);
    expect(findings).toMatchObject([
      { file: "bmad.json", message: expect.stringContaining('"tiny/bmad.json"') },
    ]);
  });

  test("broken agents do not accuse every node that names one", async () => {
    expect(places((await load({ ...files, "agents.json": "[]" })).findings)).toEqual(["error agents.json $"]);
  });
});

describe("what loading warns of", () => {
  const step = (id: string, type = "step") => ({ id, type, file: `steps/${id}.md` });
  const stepFile = (id: string, type = "step") => ({ [`steps/${id}.md`]: stepDocument(id, type) });

  test.each<[string, PackageFixture, string]>([
    [
      "a node that the entry cannot reach",
      { ...withGraph({ nodes: [draft, done, step("lost")] }), ...stepFile("lost") },
      "warning workflow.graph.json $.nodes[2]",
    ],
    [
      "no reachable end",
      { ...withGraph({ nodes: [draft, step("done")] }), ...stepFile("done") },
      "warning workflow.graph.json $.nodes",
    ],
    [
      "an edge out of an end",
      withGraph({ edges: [edge, { from: "done", to: "draft", label: "again" }] }),
      "warning workflow.graph.json $.edges[1]",
    ],
    [
      "a decision with one edge",
      { ...withGraph({ nodes: [{ ...draft, type: "decision" }, done] }), ...stepFile("draft", "decision") },
      "warning workflow.graph.json $.nodes[0]",
    ],
    [
      "an assets folder without files",
      withEntry({ assetsDir: "media" }),
      "warning bmad.json $.entry.assetsDir",
    ],
    [
      "a digest that does not match",
      withManifest({ integrity: { sha256: "0".repeat(64) } }),
      "warning bmad.json $.integrity.sha256",
    ],
  ])("%s", async (_, fixture, place) => {
    const report = await load(fixture);
    expect(places(report.findings)).toEqual([place]);
    expect(report.package).toBeDefined();
  });

  test("a digest as sha256sum would give it, with zeros in its own place, matches", async () => {
    const zeros = withManifest({ integrity: { sha256: "0".repeat(64) } });
    const sha256 = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest("hex");
    const lines = Object.entries(zeros)
      .map(([path, content]) => ({ path, line: `${sha256(bytesOf(content))}  ${path}\n` }))
      .sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
    const digest = sha256(lines.map(({ line }) => line).join(""));
    expect((await load(withManifest({ integrity: { sha256: digest } }))).findings).toEqual([]);
    expect((await load(withManifest({ integrity: { sha256: digest.toUpperCase() } }))).findings).toEqual([]);
    const { findings } = await load({ ...withManifest({ integrity: { sha256: digest } }), "assets/new": "" });
    expect(places(findings)).toEqual(["warning bmad.json $.integrity.sha256"]);
  });
});

describe("hostile directories", () => {
  async function packageDirectory() {
    return writePackage(await temporaryDirectory(), files);
  }

  test.each(["a link to a file", "a link to a folder", "a dangling link", "a link within the package"])(
    "%s is refused and not followed",
    async (kind) => {
      const dir = await packageDirectory();
      const outside = await temporaryDirectory();
      await writeFile(join(outside, "secret"), "secret");
      const targets: Record<string, string> = {
        "a link to a file": join(outside, "secret"),
        "a link to a folder": outside,
        "a dangling link": join(outside, "none"),
        "a link within the package": "template.txt",
      };
      await symlink(targets[kind] ?? "", join(dir, "assets", "link"));
      const { findings, package: loaded } = await loadPackage(dir);
      expect(findings).toMatchObject([
        { severity: "error", file: "assets/link", message: "is a link: a package holds regular files only" },
      ]);
      expect(loaded).toBeUndefined();
    },
  );

  test("a linked step file is a link and a missing file", async () => {
    const dir = await writePackage(await temporaryDirectory(), without("steps/draft.md"));
    await symlink("done.md", join(dir, "steps", "draft.md"));
    expect(places((await loadPackage(dir)).findings)).toEqual([
      "error steps/draft.md $",
      "error workflow.graph.json $.nodes[0].file",
    ]);
  });

  test("a pipe in the place of the manifest blocks nothing", async () => {
    const dir = await writePackage(await temporaryDirectory(), without("bmad.json"));
    execFileSync("sh", ["-c", 'mkfifo "$0"', join(dir, "bmad.json")]);
    const { findings } = await loadPackage(dir);
    expect(findings[0]?.message).toBe("is a named pipe: a package holds regular files only");
    expect(places(findings)).toEqual(["error bmad.json $", "error bmad.json $"]);
  });

  test("a socket is refused", async () => {
    const dir = await packageDirectory();
    const server = createServer().listen(join(dir, "socket"));
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    expect((await loadPackage(dir)).findings).toMatchObject([{ file: "socket", severity: "error" }]);
  });

  test.each([
    ["case", "assets/Template.TXT"],
    ["the case of a folder", "Assets/other.txt"],
    ["the case of letters beyond ASCII", "assets/STRASSE", "assets/straße"],
    ["Unicode form", "assets/caf\u00e9", "assets/cafe\u0301"],
  ])("names that differ only by %s are refused", async (_, ...paths) => {
    const dir = await packageDirectory();
    await writePackage(dir, Object.fromEntries(paths.map((path) => [path, "x"])));
    const { findings } = await loadPackage(dir);
    expect(findings).toMatchObject([
      { severity: "error", path: "$", message: expect.stringContaining("only by case") },
    ]);
  });

  test.each([
    ["a backslash", "assets/a\\b"],
    ["a line break", "assets/a\nb"],
    ["a drive letter", "c:name"],
  ])("a file name with %s is refused", async (_, path) => {
    const { findings } = await load({ ...files, [path]: "x" });
    expect(findings).toMatchObject([{ severity: "error", path: "$" }]);
    expect(findings[0]?.file).not.toContain("\n");
  });

  test("a file name that is not UTF-8 is refused", async () => {
    const dir = await packageDirectory();
    await writeFile(Buffer.concat([Buffer.from(`${dir}/assets/`), Buffer.from([0xff, 0x61])]), "x");
    expect(places((await loadPackage(dir)).findings)).toEqual(["error assets/\ufffda $"]);
  });

  test("more than 10,000 entries end the walk", async () => {
    const dir = await packageDirectory();
    for (let index = 0; index < 10_000; index += 1) writeFileSync(join(dir, "assets", String(index)), "");
    expect((await loadPackage(dir)).findings).toMatchObject([
      { severity: "error", file: ".", message: expect.stringContaining("more than 10000 files") },
    ]);
  });

  test("more than 256 MiB are refused without being read", async () => {
    const dir = await packageDirectory();
    for (const name of ["a", "b"]) {
      await writeFile(join(dir, "assets", name), "");
      await truncate(join(dir, "assets", name), 200 * 1024 * 1024);
    }
    expect((await loadPackage(dir)).findings).toMatchObject([
      { severity: "error", file: ".", message: expect.stringContaining("268435456") },
    ]);
  });

  test("folders deeper than any path may be are refused", async () => {
    const dir = await packageDirectory();
    await mkdir(join(dir, ...Array.from({ length: 70 }, () => "d")), { recursive: true });
    expect((await loadPackage(dir)).findings).toMatchObject([
      { severity: "error", message: "the name is deeper than 64 folders" },
    ]);
  });

  test("a folder that cannot be listed is a finding", async () => {
    const dir = await packageDirectory();
    await mkdir(join(dir, "closed"), { mode: 0o000 });
    onTestFinished(() => chmod(join(dir, "closed"), 0o700));
    const { findings } = await withoutRights(dir, () => loadPackage(dir));
    expect(findings).toMatchObject([{ file: "closed", severity: "error" }]);
  });

  test("what version control and systems leave behind does not count", async () => {
    const dir = await packageDirectory();
    await writePackage(dir, {
      ".git/HEAD": "x",
      ".DS_Store": "x",
      "assets/.DS_Store": "x",
      "__MACOSX/._bmad.json": "x",
    });
    await symlink("/", join(dir, ".git", "root"));
    expect((await loadPackage(dir)).findings).toEqual([]);
  });

  test("a report is bounded, however much is wrong", async () => {
    const keys = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`key${index}`, index]));
    const nodes = Array.from({ length: 2000 }, (_, index) => ({
      id: `n${index}`,
      type: "step",
      file: `f${index}`,
    }));
    const agents = `{"schemaVersion":"1.1","agents":[${"0,".repeat(90_000)}0]}`;
    for (const fixture of [withManifest(keys), withGraph({ nodes }), { ...files, "agents.json": agents }]) {
      const { findings } = await load(fixture);
      expect(findings.length).toBeLessThanOrEqual(100);
      expect(findings.length).toBeGreaterThanOrEqual(99);
      expect(JSON.stringify(findings).length).toBeLessThan(60_000);
    }
  });

  test("a name without end does not make a message without end, nor one with escapes a false line", async () => {
    const long = `n${"x".repeat(100_000)}`;
    const { findings } = await load(
      withGraph({ nodes: [{ ...draft, agentId: long }, done], entryNodeId: long }),
    );
    for (const finding of findings) expect(JSON.stringify(finding).length).toBeLessThan(1000);
    const hostile = await load(withManifest({ "\u001b[31mred\nline": 1 }));
    expect(hostile.findings[0]?.path).toBe(String.raw`$["\u001b[31mred\nline"]`);
  });

  test("no finding names the place where the package lies", async () => {
    const dir = await writePackage(await temporaryDirectory(), withEntry({ workflow: "none.md" }));
    await symlink(dir, join(dir, "loop"));
    expect(JSON.stringify((await loadPackage(dir)).findings)).not.toContain(dir);
  });
});

describe("artifact types of steps", () => {
  const withTypes = (lines: string): PackageFixture => ({
    ...files,
    "steps/draft.md": stepDocument("draft", "step").replace(
      "type: step\n",
      `type: step\nartifactTypes:\n${lines}`,
    ),
  });

  test("reach the graph of a run, each in one spelling", async () => {
    const { findings, package: loaded } = await load(withTypes("  ./artifacts/x.md: storyDoc\n"));
    expect(findings).toEqual([]);
    expect(loaded?.workflows[0]?.graph.nodes[0]).toMatchObject({
      artifactTypes: [{ path: "artifacts/x.md", type: "storyDoc" }],
    });
    expect(loaded?.workflows[0]?.graph.nodes[1]).not.toHaveProperty("artifactTypes");
  });

  test.each([
    ["an unknown type", "  artifacts/x.md: novel\n", '$.artifactTypes["artifacts/x.md"]'],
    ["a path outside the project", "  ../x.md: storyDoc\n", '$.artifactTypes["../x.md"]'],
    ["a list", "  - storyDoc\n", "$.artifactTypes"],
  ])("%s is a finding with file and path", async (_, lines, path) => {
    const { findings, package: loaded } = await load(withTypes(lines));
    expect(places(findings)).toEqual([`error steps/draft.md ${path}`]);
    expect(loaded).toBeUndefined();
  });

  test("too many are a finding: they enter the history of every run", async () => {
    const lines = Array.from(
      { length: 100 },
      (_, index) => `  artifacts/${"x".repeat(200)}/${"y".repeat(200)}${index}: proof\n`,
    );
    const { findings } = await load(withTypes(lines.join("")));
    expect(places(findings)).toEqual(["error workflow.graph.json $.nodes"]);
  });
});
