import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/json.js";
import { checkConditions } from "../../../src/core/package/check-conditions.js";
import { checkAgentsFile, checkGraphFile, checkManifest } from "../../../src/core/package/check-package.js";
import { checkAgainstNode } from "../../../src/core/package/check-step.js";
import type { Finding } from "../../../src/core/package/findings.js";
import { graphSchema, stepFrontmatterSchema } from "../../../src/core/package/schemas.js";
import { agent, validPackage } from "../../fakes/package-fixture.js";

const said = (findings: readonly Finding[]) =>
  findings.map(({ severity, path, message }) => `${severity} ${path} ${message}`);

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly conditionExpr?: JsonObject;
  readonly isDefault?: boolean;
}

function graphOf(nodes: readonly object[], edges: readonly Edge[]) {
  return {
    schemaVersion: "1.1",
    entryNodeId: "a",
    nodes: nodes.map((node, index) => ({ id: "abcdefgh"[index], type: "step", file: "s.md", ...node })),
    edges: edges.map((edge) => ({ label: "on", ...edge })),
  };
}

const END = { type: "end" };
const step = (fields: object) =>
  stepFrontmatterSchema.parse({ schemaVersion: "1.1", nodeId: "a", type: "step", ...fields });

describe("a manifest is warned of", () => {
  const listing = (...graphs: readonly string[]) =>
    said(
      checkManifest(
        JSON.stringify({
          ...validPackage()["bmad.json"],
          workflows: graphs.map((graph, index) => ({ id: `w${index}`, workflow: "workflow.md", graph })),
        }),
      ).findings,
    );

  test("an entry that no run can begin with, since only others are listed", () => {
    expect(listing("pictures.graph.json")).toEqual([
      'warning $.entry.graph names "workflow.graph.json", with which no run can begin: $.workflows lists others only. List it there too, or name one of theirs',
    ]);
    expect(listing("pictures.graph.json", "./workflow.graph.json")).toEqual([]);
    expect(listing()).toEqual([]);
  });
});

describe("a condition of an edge is warned of", () => {
  const check = (conditionExpr: JsonObject) =>
    said(
      checkConditions(
        "g.json",
        graphSchema.parse(graphOf([{}, END], [{ from: "a", to: "b", conditionExpr }])),
        new Set(["ok", "review"]),
      ),
    );
  const place = "warning $.edges[0].conditionExpr";

  test.each<[string, JsonObject, readonly string[]]>([
    ["not, where a step sets what it reads", { "==": [{ var: "variables.ok" }, true] }, []],
    ["not, where it reads a part of a variable", { var: ["variables.review.status", 1] }, []],
    [
      "not, where it reads gates, flags or all variables",
      {
        and: [
          { var: "gateDecisions.qaGate" },
          { var: "routingFlags.any" },
          { var: "variables" },
          { var: "" },
        ],
      },
      [],
    ],
    ["not, where it reads items of a list", { some: [{ var: "variables.ok" }, { var: "size" }] }, []],
    [
      "for an unknown operator",
      { and: [true, { equals: [1, 2] }] },
      [`${place}.and[1].equals "equals" is no operator`],
    ],
    [
      "for an unknown operator in a loop",
      { map: [[], { log: 1 }] },
      [`${place}.map[1].log "log" is no operator`],
    ],
    [
      "for a variable that no step sets",
      { "!": { var: "variables.okay" } },
      [
        `${place}["!"].var reads the variable "okay", which no step sets: name it in the setsVariables of the step that does (named are: ok, review)`,
      ],
    ],
    [
      "for variables that are missing for ever",
      { missing: ["variables.ok", "variables.x"] },
      [`${place}.missing reads the variable "x"`],
    ],
    [
      "for a variable without its root",
      { var: "ok" },
      [`${place}.var reads "ok", but conditions see variables, gateDecisions`],
    ],
    [
      "for a gate that there is not",
      { var: "gateDecisions.qa" },
      [`${place}.var reads the gate "qa", which there is not`],
    ],
    [
      "for two operators in one object",
      { "==": [1, 1], "!": false },
      [`${place} has 2 keys, and is a value that always holds`],
    ],
    ["for no operator", {}, [`${place} has 0 keys`]],
    [
      "for decisions that no gate is",
      {
        or: [
          { in: [{ var: "gateDecisions.qaGate" }, ["PASS", "waived"]] },
          { "==": ["DONE", { var: ["gateDecisions.qaGate"] }] },
        ],
      },
      [
        `${place}.or[0].in compares "gateDecisions.qaGate" with "waived", which no gate is (there are: PASS, CONCERNS, FAIL, WAIVED, PENDING)`,
        `${place}.or[1]["=="] compares "gateDecisions.qaGate" with "DONE"`,
      ],
    ],
    ["not for a variable's value, whatever it is", { in: [{ var: "variables.ok" }, ["PASS", "waived"]] }, []],
    [
      "for a path that is not read",
      { "==": ["variables.ok", true] },
      [`${place}["=="] has the text "variables.ok", and reads nothing there: write {"var": "variables.ok"}`],
    ],
  ])("%s", (_, condition, expected) => {
    const found = check(condition);
    expect(found.map((line, index) => line.slice(0, expected[index]?.length ?? 200))).toEqual(expected);
  });
});

describe("a graph is warned of", () => {
  const check = (nodes: readonly object[], edges: readonly Edge[]) =>
    said(checkGraphFile("g.json", JSON.stringify(graphOf(nodes, edges)), undefined).findings);

  test("a part without a way to an end, at the edge that leads there", () => {
    const loop = [
      { from: "a", to: "b" },
      { from: "a", to: "d" },
      { from: "b", to: "c" },
      { from: "c", to: "b" },
    ];
    expect(check([{}, {}, {}, END], loop)).toEqual([
      'warning $.edges[0] leads to "b", from where no way leads to an end: add an edge, or make its last node an end',
    ]);
    expect(check([{}, {}, {}, END], [...loop, { from: "c", to: "d" }])).toEqual([]);
  });

  test("no end at all, once", () => {
    expect(check([{}, {}], [{ from: "a", to: "b" }])).toEqual([
      expect.stringContaining("no end node can be reached"),
    ]);
  });

  test.each([
    "../out.md",
    "a/../../out.md",
    "/etc/x",
    "@pkg/x.md",
    "@state/x",
    "@home/x",
    "~/x",
    "C:\\x",
    "..\\x",
    "file:///x",
    ".",
    "",
  ])("an output that leaves the project: %j", (output) => {
    expect(check([{ outputs: ["artifacts/a.md", output] }, END], [{ from: "a", to: "b" }])).toEqual([
      `warning $.nodes[0].outputs[1] the output ${JSON.stringify(output)} leaves the project: write it like artifacts/story.md`,
    ]);
  });

  test.each([
    [".env", ".env"],
    ["config/.ENV.local", ".env.*"],
    ["@project/.git/config", ".git"],
    [".github/workflows/ci.yml", ".github/workflows"],
    ["artifacts/key.pem", "*.pem"],
    ["./.bashrc", ".bashrc"],
  ])("an output with a protected name: %j", (output, rule) => {
    expect(check([{ outputs: [output] }, END], [{ from: "a", to: "b" }])).toEqual([
      `warning $.nodes[0].outputs[0] the output ${JSON.stringify(output)} is protected (${JSON.stringify(rule)}), and no run writes it unless an operator's settings allow that: choose another name`,
    ]);
  });

  test("an output whose name no file can have, or no list would show", () => {
    const long = `artifacts/${"x".repeat(253)}.md`;
    expect(check([{ outputs: [long, "artifacts/a\u200b.md"] }, END], [{ from: "a", to: "b" }])).toEqual([
      expect.stringMatching(/can be no file's path\. A name in the path is longer than 255 bytes\.$/),
      expect.stringContaining("holds a control, direction or invisible character: remove it"),
    ]);
  });

  test.each([
    ".env.example",
    "artifacts/.notes.md",
    "artifacts/{{date}}.md",
    "src/git.md",
    ".github/labels.yml",
  ])("nothing of an output like %j", (output) => {
    expect(check([{ outputs: [output] }, END], [{ from: "a", to: "b" }])).toEqual([]);
  });
});

describe("a step is warned of where it differs from its node", () => {
  const graph = graphSchema.parse(
    graphOf(
      [{ agentId: "ada", outputs: ["artifacts/a.md", "./b.md"] }, {}, END],
      [
        { from: "a", to: "b", isDefault: true },
        { from: "a", to: "c" },
      ],
    ),
  );
  const check = (fields: object, index = 0) => {
    const node = graph.nodes[index];
    if (node === undefined) throw new Error("no node");
    return said(checkAgainstNode("s.md", step(fields), node, graph, new Set(["ada", "bob"])));
  };
  const both = [
    { to: "b", label: "on" },
    { to: "c", label: "on" },
  ];

  test.each<[string, object, readonly string[]]>([
    ["not, where it says nothing of it", {}, []],
    [
      "not, where it says the same in other words",
      {
        agentId: "ada",
        outputs: ["b.md", "@project/artifacts/a.md"],
        transitions: [{ to: "b", label: "on", isDefault: true }, both[1]],
      },
      [],
    ],
    [
      "agent",
      { agentId: "bob" },
      ['$.agentId is "bob", but node "a" of the graph has "ada", and the graph counts'],
    ],
    [
      "outputs",
      { outputs: ["artifacts/a.md", "c.md"] },
      ['$.outputs has c.md, which node "a" has not, and lacks b.md of node "a"'],
    ],
    ["no outputs", { outputs: [] }, ['$.outputs lacks artifacts/a.md, b.md of node "a"']],
    [
      "an output outside",
      { outputs: ["artifacts/a.md", "b.md", "../x"] },
      ["$.outputs has ../x", '$.outputs[2] the output "../x" leaves'],
    ],
    [
      "a transition that is no edge",
      { transitions: [...both, { to: "z", label: "on" }] },
      ['$.transitions[2] leads to "z", and the graph has no edge from "a" to there (there are: b, c)'],
    ],
    [
      "a label",
      { transitions: [{ to: "b", label: "go" }, both[1]] },
      ['$.transitions[0] has the label "go", but the graph\'s edge from "a" to "b" has "on"'],
    ],
    [
      "a default",
      { transitions: [{ ...both[0], isDefault: false }, both[1]] },
      ['$.transitions[0] says isDefault: false, but the graph\'s edge from "a" to "b" says true'],
    ],
    [
      "an edge that it does not name",
      { transitions: [both[0]] },
      ["$.transitions does not name c, to which the graph has edges"],
    ],
  ])("%s", (_, fields, expected) => {
    const found = check(fields);
    expect(found.map((line, index) => line.slice(8, 8 + (expected[index]?.length ?? 200)))).toEqual(expected);
  });

  test("an agent that the node does not name", () => {
    expect(check({ agentId: "ada" }, 1)).toEqual([expect.stringContaining("of the graph names none")]);
    expect(check({ agentId: "nobody" }, 1)).toEqual([]); // that agents.json lacks it is an error, and said as that
  });
});

test("an agent without tools is warned of", () => {
  const agents = [
    agent("a"),
    { ...agent("b"), tools: { fs: { enabled: false } } },
    { ...agent("c"), tools: { fs: {} } },
  ];
  expect(
    said(checkAgentsFile("agents.json", JSON.stringify({ schemaVersion: "1.1", agents })).findings),
  ).toEqual([
    'warning $.agents[1].tools.fs.enabled agent "b" has no tools: no node at which it works can be finished. Set it to true, or leave it out',
  ]);
});

test.each([
  [
    { enabled: true },
    "has the tools of no server: name servers in allowedServers, by their names in the settings",
  ],
  [
    { enabled: true, allowedServers: [] },
    "has the tools of no server: name servers in allowedServers, by their names in the settings",
  ],
  [
    { allowedServers: ["tickets"] },
    "does not get the tools of its allowedServers: add enabled, true or false",
  ],
  [
    { enabled: true, allowedServers: ["tickets", "*"] },
    'names the server "*": no server in the settings can be called so',
  ],
  [
    { enabled: true, allowedServers: ["mcp.tickets"] },
    'names the server "mcp.tickets": no server in the settings can be called so',
  ],
  [{ enabled: true, allowedServers: ["tickets"] }, undefined],
  [{ enabled: false, allowedServers: ["tickets"] }, undefined],
  [{ enabled: false }, undefined],
  [{}, undefined],
])("a policy of servers' tools that gives none is warned of: %j", (mcp, sentence) => {
  const agents = [{ ...agent("a"), tools: { mcp } }];
  const { findings } = checkAgentsFile("agents.json", JSON.stringify({ schemaVersion: "1.1", agents }));
  expect(said(findings)).toEqual(
    sentence === undefined ? [] : [`warning $.agents[0].tools.mcp agent "a" ${sentence}`],
  );
});

test("an edge that stands there twice is warned of, one under another condition is not", () => {
  const edge = { from: "a", to: "b" };
  const graph = graphOf([{}, END], [edge, { ...edge, conditionExpr: { "!": [1] } }, edge]);
  const twice = checkGraphFile("g.json", JSON.stringify(graph), undefined);
  expect(said(twice.findings)).toEqual(["warning $.edges[2] is edges[0] once more: remove one of the two"]);
});
