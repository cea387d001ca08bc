import { describe, expect, test } from "vitest";
import {
  checkAgentsFile,
  checkAssetsDir,
  checkGraphFile,
  checkManifest,
  checkReference,
  checkStepFile,
  checkWorkflowDocument,
  manifestReferences,
  missingManifest,
} from "../../../src/core/package/check-package.js";
import { indexFiles } from "../../../src/core/package/file-index.js";
import type { Finding } from "../../../src/core/package/findings.js";
import { isPackageId, packageIdOf } from "../../../src/core/package/package-id.js";
import { agent, validPackage } from "../../fakes/package-fixture.js";

const files = validPackage();
const manifest = files["bmad.json"];
const graph = files["workflow.graph.json"];
const [draft, done] = graph.nodes;
const [edge] = graph.edges;
const AUTHOR = new Set(["author"]);

const said = (findings: readonly Finding[]) =>
  findings.map(({ severity, path, message }) => `${severity} ${path} ${message}`);
const manifestWith = (change: object) => checkManifest(JSON.stringify({ ...manifest, ...change }));
const graphWith = (change: object) =>
  checkGraphFile("graph.json", JSON.stringify({ ...graph, ...change }), AUTHOR);

describe("the manifest", () => {
  const workflow = { id: "a", workflow: "a.md", graph: "a.json" };
  const main = { id: "main", workflow: "workflow.md", graph: "workflow.graph.json" };

  test("is given with all it refers to", () => {
    const { value, findings } = manifestWith({ workflows: [workflow, main] });
    expect(findings).toEqual([]);
    if (value === undefined) throw new Error("no manifest");
    const { agents, entry, workflows } = manifestReferences(value);
    expect([agents, entry.workflow, entry.graph, workflows[0]?.workflow, workflows[0]?.graph]).toMatchObject([
      { path: "$.entry.agents", target: "agents.json" },
      { path: "$.entry.workflow", target: "workflow.md" },
      { path: "$.entry.graph", target: "workflow.graph.json" },
      { path: "$.workflows[0].workflow", target: "a.md" },
      { path: "$.workflows[0].graph", target: "a.json" },
    ]);
    expect(manifestReferences({ ...value, workflows: undefined }).workflows).toEqual([]);
  });

  test("that is no JSON, or has ids twice, is told with its place", () => {
    expect(checkManifest("{").value).toBeUndefined();
    expect(said(manifestWith({ workflows: [main, workflow, workflow] }).findings)).toEqual([
      'error $.workflows[2].id the id "a" belongs to workflows[1] already: give each its own',
    ]);
  });

  test.each([
    [{ name: undefined }, "error $.name is missing: add it as text"],
    [{ name: 3 }, "error $.name must be text, not 3: put it in quotes"],
    [{ name: "" }, "error $.name must not be empty"],
    [{ name: null }, "error $.name must be text, not null"],
    [{ name: [] }, "error $.name must be text, not a list"],
    [{ name: {} }, "error $.name must be text, not an object"],
    [{ schemaVersion: undefined }, "error $.schemaVersion is missing: add it as text"],
    [{ schemaVersion: "9" }, 'error $.schemaVersion must be "1.1" or'],
    [{ surplus: 1 }, "error $.surplus is no key of this format: remove or rename it"],
    [{ createdAt: "yesterday" }, "error $.createdAt must be an ISO date and time with zone"],
    [{ workflows: [] }, ""],
  ])("%j: %s", (change, sentence) => {
    expect(said(manifestWith(change).findings).join("\n")).toContain(sentence);
  });
});

describe("agents.json", () => {
  test("is given as its agents", () => {
    const { value } = checkAgentsFile("agents.json", JSON.stringify(files["agents.json"]));
    expect(value?.map(({ id }) => id)).toEqual(["author"]);
  });

  test.each([
    [
      JSON.stringify({ schemaVersion: "1.1", agents: [{ ...agent("a"), persona: { principles: 3 } }] }),
      "must be a text or a list of at least one text",
    ],
    [
      JSON.stringify({
        schemaVersion: "1.1",
        agents: [{ ...agent("a"), tools: { fs: { maxReadBytes: 0, maxWriteBytes: 0 } } }],
      }),
      "must be at least 1, not 0",
    ],
    ["[", "error $[0] is not valid JSON"],
    [JSON.stringify({ schemaVersion: "1.1", agents: [] }), "error $.agents must have at least one item"],
    [
      JSON.stringify({ schemaVersion: "1.1", agents: [agent("a"), agent("a")] }),
      'error $.agents[1].id the id "a" belongs to agents[0] already: give each its own',
    ],
  ])("%j: %s", (text, sentence) => {
    expect(said(checkAgentsFile("agents.json", text).findings).join("\n")).toContain(sentence);
  });
});

describe("a graph", () => {
  test("without a fault has no finding", () => {
    expect(graphWith({})).toMatchObject({ findings: [], value: { entryNodeId: "draft" } });
    expect(checkGraphFile("graph.json", "{", AUTHOR).value).toBeUndefined();
    expect(graphWith({ nodes: 3 }).value).toBeUndefined();
  });

  test.each([
    ["a node twice", { nodes: [draft, done, draft] }, 'the id "draft" belongs to nodes[0] already'],
    [
      "an unknown type",
      { nodes: [{ ...draft, type: "loop" }, done] },
      "error $.nodes[0].type must be one of step, decision",
    ],
    ["an unknown entry", { entryNodeId: "x" }, 'error $.entryNodeId "x" is not the id of a node'],
    ["an edge to nowhere", { edges: [edge, { ...edge, to: "x" }] }, 'error $.edges[1].to "x" is not the id'],
    [
      "two defaults",
      { edges: [edge, edge].map((item) => ({ ...item, isDefault: true })) },
      'edges[0] is the default out of "draft" already: keep one of the two',
    ],
    [
      "an unknown agent",
      { nodes: [{ ...draft, agentId: "who" }, done] },
      'node "draft" names the agent "who", which agents.json does not have',
    ],
    ["an unreachable node", { edges: [] }, 'node "done" cannot be reached from the entry "draft"'],
    ["no end", { edges: [] }, "no end node can be reached"],
    [
      "a decision with one edge",
      { nodes: [{ ...draft, type: "decision" }, done] },
      'decision "draft" has one edge: give it two or more',
    ],
    [
      "a decision with none",
      { nodes: [{ ...draft, type: "decision" }, done], edges: [] },
      'decision "draft" has no edge: give it two or more',
    ],
    [
      "an end that goes on",
      { edges: [edge, { ...edge, from: "done", to: "draft" }] },
      'the end node "done" has an edge to "draft": remove it',
    ],
  ])("%s is told", (_, change, sentence) => {
    expect(said(graphWith(change).findings).join("\n")).toContain(sentence);
  });
});

describe("documents", () => {
  test("a workflow's frontmatter is given as the run will have it, or told", () => {
    const good = checkWorkflowDocument("workflow.md", { schemaVersion: 1.1, workflowType: "tiny" });
    expect(good).toMatchObject({ findings: [], value: { schemaVersion: "1.1", currentNodeId: "" } });
    expect(checkWorkflowDocument("workflow.md", { workflowType: "" }).value).toBeUndefined();
  });

  test("a frontmatter's time is a time", () => {
    const frontmatter = { schemaVersion: "1.1", workflowType: "tiny", updatedAt: "yesterday" };
    expect(said(checkWorkflowDocument("workflow.md", frontmatter).findings).join()).toContain(
      "error $.updatedAt must be an ISO date and time with zone",
    );
  });

  test("variables that a run would not begin with are told of", () => {
    const frontmatter = { schemaVersion: "1.1", workflowType: "tiny", variables: { rounds: 0, tone: "dry" } };
    const { value, findings } = checkWorkflowDocument("workflow.md", frontmatter);
    expect([value?.workflowType, said(findings)]).toEqual([
      "tiny",
      ["warning $.variables has rounds, tone, and runs begin without any variable: let a step set them"],
    ]);
  });

  test("a step's field that is spelled almost as one that is read is told of, and no other", () => {
    const step = {
      schemaVersion: "1.1",
      nodeId: "draft",
      type: "step",
      setVariables: ["x"],
      agent_id: "a",
      note: 1,
    };
    const { findings } = checkStepFile("draft.md", step, { id: "draft" }, AUTHOR);
    expect(said(findings)).toEqual([
      "warning $.setVariables is no field of a step: did you mean setsVariables?",
      "warning $.agent_id is no field of a step: did you mean agentId?",
    ]);
  });

  test("a key in which a letter is missing, too many, another or in another's place is told of; an author's own is not", () => {
    const slips = ["artefactTypes", "setsVariabels", "ouputs", "transsitions", "agentld"];
    const own = ["tone", "tile", "nodes", "outcome", "ingredients", "output_format", "agent"];
    const step = { schemaVersion: "1.1", nodeId: "draft", type: "step" };
    const keys = Object.fromEntries([...slips, ...own].map((key) => [key, "x"]));
    const { findings } = checkStepFile("draft.md", { ...step, ...keys }, { id: "draft" }, AUTHOR);
    expect(said(findings)).toEqual(
      [
        ["artefactTypes", "artifactTypes"],
        ["setsVariabels", "setsVariables"],
        ["ouputs", "outputs"],
        ["transsitions", "transitions"],
        ["agentld", "agentId"],
      ].map(([key, meant]) => `warning $.${key} is no field of a step: did you mean ${meant}?`),
    );
  });

  test("an id that is refused hides nothing else: what names it means it", () => {
    const text = JSON.stringify({
      schemaVersion: "1.1",
      entryNodeId: "first cup",
      nodes: [
        { id: "first cup", type: "step", file: "a.md" },
        { id: "first-cup", type: "step", file: "a.md" },
        { id: 2, type: "end", file: "b.md" },
      ],
      edges: [
        { from: "first cup", to: 2, label: "next", isDefault: true },
        { from: "first-cup", to: "nowhere", label: "next", isDefault: true },
      ],
    });
    const { findings } = checkGraphFile("workflow.graph.json", text, AUTHOR);
    const errors = findings.filter(({ severity }) => severity === "error");
    expect(errors.map(({ path }) => path)).toEqual([
      "$.entryNodeId",
      "$.nodes[0].id",
      "$.nodes[2].id",
      "$.edges[0].from",
      "$.edges[0].to",
      "$.edges[1].to",
    ]);
    expect(errors.at(-1)?.message).toBe(
      '"nowhere" is not the id of a node (there are: first cup, first-cup, 2)',
    );
  });

  test("a refused id is told as it is written, whatever stands in for it", () => {
    const { findings } = graphWith({
      nodes: [{ ...draft, id: "→ é:" }, done],
      entryNodeId: "→ é:",
      edges: [{ ...edge, from: "→ é:", to: "no where" }],
    });
    const names = said(findings).map((sentence) => sentence.replace(/^\S+ \S+ /, ""));
    expect(names).toContain('"no where" is not the id of a node (there are: → é:, done)');
    expect(JSON.stringify(findings)).not.toMatch(/:u|_\d/);
  });

  test("a step is held against its node", () => {
    const { value } = graphWith({});
    const [node] = value?.nodes ?? [];
    if (node === undefined) throw new Error("no node");
    const step = { schemaVersion: 1.1, nodeId: "draft", type: "step" };
    expect(checkStepFile("draft.md", step, node, AUTHOR).findings).toEqual([]);
    const other = { ...step, schemaVersion: "1.1", nodeId: "other", agentId: "who" };
    expect(said(checkStepFile("draft.md", other, node, AUTHOR).findings)).toEqual([
      'error $.nodeId is "other", but node "draft" of the graph has "draft": make them equal',
      expect.stringContaining('step "other" names the agent "who"'),
    ]);
    expect(checkStepFile("draft.md", {}, node, AUTHOR).value).toBeUndefined();
  });
});

describe("files that a package names", () => {
  const index = indexFiles([
    "bmad.json",
    "docs/a.md",
    "docs/b.md",
    "docs/café.md",
    "docs/end.md ",
    "more/a.md",
  ]);
  const refer = (target: string) => checkReference({ file: "bmad.json", path: "$.x", target }, index);

  test("are found under exactly their name", () => {
    expect(refer("docs/a.md").value).toBe("docs/a.md");
    expect(refer("./docs/a.md").value).toBe("docs/a.md");
  });

  test("a blank at the end of a name is told of: nobody sees it, and models leave it out", () => {
    const { value, findings } = refer("docs/end.md ");
    expect([value, said(findings)]).toEqual([
      "docs/end.md ",
      [expect.stringMatching(/^warning .*with a blank/)],
    ]);
  });

  test.each([
    ["/etc/passwd", "the path"],
    ["docs", "which is a folder: name a file in it"],
    ["docs/A.md", 'but the file is called "docs/a.md": spell it exactly so'],
    [
      "docs/cafe\u0301.md",
      String.raw`names "docs/cafe\u{301}.md", but the file is called "docs/caf\u{e9}.md", which looks the same: write both in one Unicode form`,
    ],
    ["a.md", "which the package does not have: add it, or did you mean docs/a.md, more/a.md"],
    ["none.md", "which the package does not have: add it"],
    ["./docs/b.md#step-2", "which the package does not have: add it, or did you mean docs/b.md"],
    ["docs/%62.md", "which the package does not have: add it, or did you mean docs/b.md"],
    ["docs/100%.md", "which the package does not have: add it"],
  ])("%s: %s", (target, sentence) => {
    expect(said(refer(target).findings).join("\n")).toContain(sentence);
  });

  test("a manifest elsewhere is pointed at", () => {
    expect(missingManifest(index).message).toContain("there is one in");
    expect(missingManifest(indexFiles(["x/y"])).message).toMatch(/: add it$/);
    expect(missingManifest(indexFiles(["desk/workflow.yaml"])).message).toContain(
      'run "desk/workflow.yaml" as it is, if it is BMAD\'s: interlock bundle run',
    );
    for (const name of ["SKILL.md", "workflow.md"])
      expect(missingManifest(indexFiles([name, "steps/step-01.md"])).message).toContain(
        `make a package of the workflow that begins in "${name}": interlock package import`,
      );
  });

  test.each([
    [undefined, ""],
    ["docs", ""],
    ["../up", "the path"],
    ["docs/a.md", "which is a file: name its folder"],
    ["assets", "in which the package has no file: add one or remove the key"],
  ])("the folder of assets %j: %s", (assetsDir, sentence) => {
    const { value } = manifestWith({ entry: { ...manifest.entry, ...(assetsDir && { assetsDir }) } });
    if (value === undefined) throw new Error("no manifest");
    const text = said(checkAssetsDir(value, index)).join("\n");
    expect(text).toMatch(sentence === "" ? /^$/ : sentence);
  });
});

describe("package ids", () => {
  test.each([
    ["Tiny Story", "1.0.0", "tiny-story-1.0.0-0123456789abcdef"],
    ["Ünïcode!", "v2..0", "unicode-v2.0-0123456789abcdef"],
    ["…", "", "package-0-0123456789abcdef"],
  ])("%s %s is %s", (name, version, id) => {
    expect(packageIdOf(name, version, "0123456789abcdef0123")).toBe(id);
    expect(isPackageId(id)).toBe(true);
  });

  test.each(["", ".hidden", "a/b", "..", "a b", "x".repeat(201)])("%j is none", (text) => {
    expect(isPackageId(text)).toBe(false);
  });
});
