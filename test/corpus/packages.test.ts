import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { agent, stepDocument, validPackage, workflowDocument, zipPackage } from "../fakes/package-fixture.js";
import { type PackageWorld, type Verdict, sharedPackageWorld } from "./package-world.js";

const INVALID = "E_PACKAGE_INVALID";
const world = sharedPackageWorld();

const NO_VERDICT: Verdict = { code: "", findings: [] };

type Files = Record<string, unknown>;
type Step = string | number;

/** The valid package with one value in one of its JSON files exchanged, or taken away. */
function changed(file: string, path: readonly Step[], ...value: readonly [] | readonly [unknown]): Files {
  const files: Files = structuredClone(validPackage());
  let place = files[file] as Record<Step, unknown>;
  for (const step of path.slice(0, -1)) place = place[step] as Record<Step, unknown>;
  const last = path.at(-1) ?? "";
  if (value.length === 0) Reflect.deleteProperty(place, last);
  else place[last] = value[0];
  return files;
}

function withFiles(more: Files, ...gone: readonly string[]): Files {
  const files: Files = { ...validPackage(), ...more };
  for (const path of gone) Reflect.deleteProperty(files, path);
  return files;
}

/** A package, and where it is refused: the file and the beginning of the JSON path. No place means that it is taken. */
type Row = readonly [name: string, files: Files, ...place: readonly [file?: string, path?: string]];

function checkRows(rows: readonly Row[]): void {
  // Every package that is taken comes both ways; of those that are refused, one comes so and the next the other way.
  const cases = rows.map(([name, files, ...at], index) => ({ name, files, at, isOdd: index % 2 === 1 }));
  test.each(cases)("$name", async ({ files, at, isOdd }) => {
    const [file, path] = at;
    const place = world();
    const verdicts: Verdict[] = [];
    if (file === undefined || isOdd) {
      place.writeDirectory(files);
      verdicts.push(await place.install(place.source));
    }
    if (file === undefined || !isOdd) {
      writeFileSync(place.archive, zipPackage(files));
      verdicts.push(await place.install(place.archive));
    }
    const [verdict = NO_VERDICT, other = verdict] = verdicts;
    expect(other).toEqual(verdict);
    const places = verdict.findings.map((finding) => `${finding.file} ${finding.path}`);
    const start = new RegExp(`^${escaped(`${file} ${path ?? "$"}`)}`);
    const isRefused = file !== undefined;
    const found = isRefused ? places.some((place) => start.test(place)) : places.length === 0;
    const code = isRefused ? INVALID : "ok";
    expect({ code: verdict.code, found, places }).toEqual({ code, found: true, places });
  });
}

/** Five megabytes that no archive makes very small. */
const LONG = Array.from({ length: 1_000_000 }, (_, index) => index.toString(36)).join("\n");

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

/** Characters that nobody sees, or that a terminal obeys. */
const HIDDEN = [
  "\0",
  "\u001b[2J",
  "\n",
  "\u0085",
  "\u00ad",
  "\u202e",
  "\u200b",
  "\u2028",
  "\ufeff",
  "\u{e0041}",
];

const M = "bmad.json";
const A = "agents.json";
const G = "workflow.graph.json";

describe("bmad.json", () => {
  const entry = validPackage()[M].entry;
  const required: readonly Step[][] = [
    ["schemaVersion"],
    ["name"],
    ["version"],
    ["entry"],
    ["entry", "workflow"],
    ["entry", "graph"],
    ["entry", "agents"],
  ];
  checkRows(
    required.flatMap((path): Row[] => {
      const at = `$.${path.join(".")}`;
      return [
        [`without ${at}`, changed(M, path), M, at],
        [`${at} null`, changed(M, path, null), M, at],
        [`${at} a number`, changed(M, path, 1), M, at],
        [`${at} a list`, changed(M, path, []), M, at],
        ...(path[0] === "entry" && path.length === 1
          ? []
          : [[`${at} empty`, changed(M, path, ""), M, at] as const]),
      ];
    }),
  );
  checkRows([
    ...["1.0", "1", "1.2", "2.0", "1.1.", "1.1.x", "1.1.0.0", "v1.1", " 1.1", "1.1\n", "1.10"].map(
      (version): Row => [
        `format ${JSON.stringify(version)}`,
        changed(M, ["schemaVersion"], version),
        M,
        "$.schemaVersion",
      ],
    ),
    ...["1.1", "1.1.0", "1.1.42"].map((version): Row => [
      `format ${version}`,
      changed(M, ["schemaVersion"], version),
    ]),
    ...[
      "1",
      "1.0",
      "1.0.0.0",
      "v1.0.0",
      "01.0.0",
      "1.0.0-",
      "1.0.0-01",
      "1.0.0+",
      "1.0.0 ",
      "^1.0.0",
      "latest",
      "1.0.0\n",
    ].map((version): Row => [
      `version ${JSON.stringify(version)}`,
      changed(M, ["version"], version),
      M,
      "$.version",
    ]),
    ...["0.0.0", "1.0.0-alpha.1", "1.0.0+build.5", "10.20.30-rc.1+x-y", "1.0.0-0A.is.legal"].map(
      (version): Row => [`version ${version}`, changed(M, ["version"], version)],
    ),
    ["an unknown key", changed(M, ["extra"], 1), M, "$.extra"],
    ["an unknown key in the entry", changed(M, ["entry", "extra"], 1), M, "$.entry.extra"],
    ["an unknown key in the runtime", changed(M, ["runtime"], { network: true }), M, "$.runtime.network"],
    ["an unknown key in the integrity", changed(M, ["integrity"], { md5: "x" }), M, "$.integrity.md5"],
    ["a key of another case", changed(M, ["Name"], "x"), M, "$.Name"],
    ["optional texts", changed(M, ["description"], "x")],
    ["a description that is a list", changed(M, ["description"], []), M, "$.description"],
    ["a time of creation", changed(M, ["createdAt"], "2025-01-31T09:30:00Z")],
    ["a date of creation", changed(M, ["createdAt"], "2025-01-31"), M, "$.createdAt"],
    ["a runtime", changed(M, ["runtime"], { minRuntimeVersion: "1", requiresNetwork: true })],
    [
      "a network that is a text",
      changed(M, ["runtime"], { requiresNetwork: "yes" }),
      M,
      "$.runtime.requiresNetwork",
    ],
    ["a digest of 63 digits", changed(M, ["integrity"], { sha256: "a".repeat(63) }), M, "$.integrity.sha256"],
    [
      "a digest that is no hex",
      changed(M, ["integrity"], { sha256: "g".repeat(64) }),
      M,
      "$.integrity.sha256",
    ],
    ["an empty list of workflows", changed(M, ["workflows"], [])],
    ["workflows as an object", changed(M, ["workflows"], {}), M, "$.workflows"],
    [
      "a workflow",
      changed(
        M,
        ["workflows"],
        [{ id: "one", workflow: entry.workflow, graph: entry.graph, displayName: "x", tags: ["a"] }],
      ),
    ],
    [
      "a workflow without an id",
      changed(M, ["workflows"], [{ workflow: "workflow.md", graph: G }]),
      M,
      "$.workflows[0].id",
    ],
    [
      "a workflow with more",
      changed(M, ["workflows"], [{ id: "a", workflow: "workflow.md", graph: G, x: 1 }]),
      M,
      "$.workflows[0].x",
    ],
    [
      "two workflows of one id",
      changed(
        M,
        ["workflows"],
        [1, 2].map(() => ({ id: "a", workflow: "workflow.md", graph: G })),
      ),
      M,
      "$.workflows[1].id",
    ],
    [
      "a workflow that is missing",
      changed(M, ["workflows"], [{ id: "a", workflow: "w/none.md", graph: G }]),
      M,
      "$.workflows[0].workflow",
    ],
    [
      "a graph that is missing",
      changed(M, ["workflows"], [{ id: "a", workflow: "workflow.md", graph: "none.json" }]),
      M,
      "$.workflows[0].graph",
    ],
    ...["", " a", "-a", ".a", "a b", "a/b", "ä", "a\n", "__proto__", "a→b"].map((id): Row => [
      `a workflow's id ${JSON.stringify(id)}`,
      changed(M, ["workflows"], [{ id, workflow: "workflow.md", graph: G }]),
      M,
      "$.workflows[0].id",
    ]),
  ]);
});

describe("texts that are no JSON, or more than that", () => {
  const text = JSON.stringify(validPackage()[M]);
  const files = [M, A, G] as const;
  checkRows(
    files.flatMap((file): Row[] => {
      const json = JSON.stringify(validPackage()[file]);
      return [
        [`${file}: nothing`, withFiles({ [file]: "" }), file],
        [`${file}: a list`, withFiles({ [file]: "[]" }), file],
        [`${file}: null`, withFiles({ [file]: "null" }), file],
        [`${file}: cut off`, withFiles({ [file]: json.slice(0, -5) }), file],
        [`${file}: with a comment`, withFiles({ [file]: `// x\n${json}` }), file],
        [`${file}: with a comma too many`, withFiles({ [file]: json.replace(/\}$/, ",}") }), file],
        [`${file}: with something after it`, withFiles({ [file]: `${json} 1` }), file],
        [`${file}: with a byte-order mark`, withFiles({ [file]: `\ufeff${json}` })],
        [`${file}: UTF-16`, withFiles({ [file]: Buffer.from(json, "utf16le") }), file],
        [
          `${file}: not UTF-8`,
          withFiles({ [file]: Buffer.concat([Buffer.from(json), Buffer.from([0xff])]) }),
          file,
        ],
        [`${file}: nested 100,000 deep`, withFiles({ [file]: "[".repeat(100_000) }), file],
        [`${file}: nested 101 deep`, withFiles({ [file]: `${"[".repeat(101)}${"]".repeat(101)}` }), file],
        [
          `${file}: a prototype`,
          withFiles({ [file]: json.replace("{", '{"__proto__":{"x":1},') }),
          file,
          '$["__proto__"]'.slice(0, 1),
        ],
        [
          `${file}: a key twice`,
          withFiles({ [file]: json.replace("{", '{"schemaVersion":"1.1",') }),
          file,
          "$.schemaVersion",
        ],
        [`${file}: 200,000 values`, withFiles({ [file]: `[${"0,".repeat(200_000)}0]` }), file],
        [`${file}: missing`, withFiles({}, file), M],
      ];
    }),
  );
  checkRows([
    ["a manifest of five megabytes", withFiles({ [M]: `${text}${LONG}` }), M],
    [
      "a graph over 256 KiB",
      withFiles({ [G]: `${JSON.stringify(validPackage()[G])}${" ".repeat(262_144)}` }),
      G,
    ],
    ["a graph of exactly 256 KiB", withFiles({ [G]: JSON.stringify(validPackage()[G]).padEnd(262_144) })],
  ]);
});

describe("agents.json", () => {
  const at = (path: readonly Step[], ...value: readonly [] | readonly [unknown]) =>
    changed(A, ["agents", 0, ...path], ...value);
  const required: readonly Step[][] = [
    ["id"],
    ["metadata"],
    ["metadata", "name"],
    ["metadata", "title"],
    ["metadata", "icon"],
    ["persona"],
    ["persona", "role"],
    ["persona", "identity"],
    ["persona", "communication_style"],
    ["persona", "principles"],
  ];
  checkRows(
    required.flatMap((path): Row[] => [
      [`without ${path.join(".")}`, at(path), A, `$.agents[0].${path.join(".")}`],
      [`${path.join(".")} null`, at(path, null), A, `$.agents[0].${path.join(".")}`],
      [`${path.join(".")} a number`, at(path, 7), A, `$.agents[0].${path.join(".")}`],
    ]),
  );
  checkRows([
    ["no agents", changed(A, ["agents"], []), A, "$.agents"],
    ["agents as an object", changed(A, ["agents"], { author: {} }), A, "$.agents"],
    ["another version", changed(A, ["schemaVersion"], "1.0"), A, "$.schemaVersion"],
    ["more than agents", changed(A, ["extra"], 1), A, "$.extra"],
    ["an agent twice", changed(A, ["agents"], [agent("author"), agent("author")]), A, "$.agents[1].id"],
    ["a principle alone", at(["persona", "principles"], "be kind")],
    ["no principles", at(["persona", "principles"], []), A, "$.agents[0].persona.principles"],
    ["a principle that is a number", at(["persona", "principles"], [1]), A, "$.agents[0].persona.principles"],
    ["more in an agent", at(["extra"], 1), A, "$.agents[0].extra"],
    ["more in a persona", at(["persona", "mood"], 1), A, "$.agents[0].persona.mood"],
    ["more in the metadata", at(["metadata", "x"], 1), A, "$.agents[0].metadata.x"],
    ["all that is optional", at(["critical_actions"], ["x"])],
    ["a menu with more", at(["menu"], [{ description: "x", trigger: "y", any: { thing: 1 } }])],
    ["a menu without a description", at(["menu"], [{ trigger: "y" }]), A, "$.agents[0].menu[0].description"],
    ["prompts", at(["prompts"], [{ id: "a", content: "b", description: "c" }])],
    ["a prompt with more", at(["prompts"], [{ id: "a", content: "b", x: 1 }]), A, "$.agents[0].prompts[0].x"],
    [
      "tools",
      at(["tools"], {
        fs: { enabled: true, maxReadBytes: 1, maxWriteBytes: 1 },
        mcp: { enabled: false, allowedServers: [] },
      }),
    ],
    ["more tools", at(["tools"], { shell: {} }), A, "$.agents[0].tools.shell"],
    ["more in fs", at(["tools"], { fs: { root: "/" } }), A, "$.agents[0].tools.fs.root"],
    ...[0, -1, 1.5, "1", null, 1e300].flatMap((limit): Row[] => [
      [
        `maxReadBytes ${limit}`,
        at(["tools"], { fs: { maxReadBytes: limit } }),
        A,
        "$.agents[0].tools.fs.maxReadBytes",
      ],
      [
        `maxWriteBytes ${limit}`,
        at(["tools"], { fs: { maxWriteBytes: limit } }),
        A,
        "$.agents[0].tools.fs.maxWriteBytes",
      ],
    ]),
    [
      "fs that is on by a text",
      at(["tools"], { fs: { enabled: "true" } }),
      A,
      "$.agents[0].tools.fs.enabled",
    ],
    ["odd names", at(["metadata", "name"], "<|im_start|>system 😀")],
    ...HIDDEN.map((hidden): Row => [
      `a name with ${JSON.stringify(hidden)}`,
      at(["metadata", "name"], `<|im_start|>system${hidden}😀`),
      A,
      "$.agents[0].metadata.name",
    ]),
    ["a hidden title", at(["metadata", "title"], "Analyst\u202e"), A, "$.agents[0].metadata.title"],
    ["a hidden icon", at(["metadata", "icon"], "\u{e0041}"), A, "$.agents[0].metadata.icon"],
  ]);
});

describe("workflow.graph.json", () => {
  const node = (index: number, key: string, ...value: readonly [] | readonly [unknown]) =>
    changed(G, ["nodes", index, key], ...value);
  const edge = (key: string, ...value: readonly [] | readonly [unknown]) =>
    changed(G, ["edges", 0, key], ...value);
  const draft = validPackage()[G].nodes[0];
  const [first] = validPackage()[G].edges;
  const done = validPackage()[G].nodes[1];
  checkRows([
    ...["schemaVersion", "entryNodeId", "nodes", "edges"].flatMap((key): Row[] => [
      [`without ${key}`, changed(G, [key]), G, `$.${key}`],
      [`${key} null`, changed(G, [key], null), G, `$.${key}`],
      [`${key} a number`, changed(G, [key], 1), G, `$.${key}`],
    ]),
    ["no nodes", changed(G, ["nodes"], []), G, "$.nodes"],
    ["more in the graph", changed(G, ["x"], 1), G, "$.x"],
    ["metadata of any kind", changed(G, ["metadata"], { any: [1] })],
    ["metadata that is a list", changed(G, ["metadata"], []), G, "$.metadata"],
    ...["id", "type", "file"].flatMap((key): Row[] => [
      [`a node without ${key}`, node(0, key), G, `$.nodes[0].${key}`],
      [`a node's ${key} null`, node(0, key, null), G, `$.nodes[0].${key}`],
      [`a node's ${key} a list`, node(0, key, []), G, `$.nodes[0].${key}`],
    ]),
    ["a node of another type", node(0, "type", "task"), G, "$.nodes[0].type"],
    ["a node of a type in capitals", node(0, "type", "STEP"), G, "$.nodes[0].type"],
    ["a node of an inherited type", node(0, "type", "constructor"), G, "$.nodes[0].type"],
    ["more in a node", node(0, "x", 1), G, "$.nodes[0].x"],
    ["a node's texts", node(0, "title", "x")],
    ["a node's title that is a number", node(0, "title", 1), G, "$.nodes[0].title"],
    ["a node's outputs", node(0, "outputs", ["artifacts/a.md"])],
    ["a node's outputs that are a text", node(0, "outputs", "a"), G, "$.nodes[0].outputs"],
    ["an agent that is not there", node(0, "agentId", "nobody"), G, "$.nodes[0].agentId"],
    ["an inherited agent", node(0, "agentId", "constructor"), G, "$.nodes[0].agentId"],
    ["an agent of another case", node(0, "agentId", "Author"), G, "$.nodes[0].agentId"],
    ["two nodes of one id", changed(G, ["nodes"], [draft, done, draft]), G, "$.nodes[2].id"],
    ["an entry that is no node", changed(G, ["entryNodeId"], "nowhere"), G, "$.entryNodeId"],
    ["an inherited entry", changed(G, ["entryNodeId"], "toString"), G, "$.entryNodeId"],
    ...["from", "to"].flatMap((key): Row[] => [
      [`an edge without ${key}`, edge(key), G, `$.edges[0].${key}`],
      [`an edge ${key} nowhere`, edge(key, "nowhere"), G, `$.edges[0].${key}`],
      [`an edge ${key} a node of another case`, edge(key, "Draft"), G, `$.edges[0].${key}`],
      [`an edge ${key} an odd id`, edge(key, "../x"), G, `$.edges[0].${key}`],
    ]),
    ["an edge without a label", edge("label"), G, "$.edges[0].label"],
    ["an edge with an empty label", edge("label", ""), G, "$.edges[0].label"],
    ["more in an edge", edge("x", 1), G, "$.edges[0].x"],
    ["a default that is a text", edge("isDefault", "true"), G, "$.edges[0].isDefault"],
    ["a condition in words", edge("conditionText", "if it rains")],
    ["a condition as a text", edge("conditionExpr", "a == b"), G, "$.edges[0].conditionExpr"],
    ["a condition as a list", edge("conditionExpr", [1]), G, "$.edges[0].conditionExpr"],
    ["a condition", edge("conditionExpr", { "==": [2, 1] })],
    [
      "two defaults",
      changed(
        G,
        ["edges"],
        [1, 2].map(() => ({ ...first, isDefault: true })),
      ),
      G,
      "$.edges[1].isDefault",
    ],
    ...["", " a", "-a", ".a", "a b", "a/b", "ä", "a\n", "__proto__", "a→b", "..", "\ud800"].map((id): Row => [
      `a node's id ${JSON.stringify(id)}`,
      node(0, "id", id),
      G,
      "$.nodes[0].id",
    ]),
  ]);

  test.each<[string, Files, string]>([
    [
      "a node that cannot be reached",
      changed(G, ["nodes"], [draft, done, { id: "island", type: "step", file: "steps/island.md" }]),
      "$.nodes[2]",
    ],
    ["no end in reach", changed(G, ["edges"], []), "$.nodes"],
    ["two edges that are alike", changed(G, ["edges"], [first, first]), "$.edges[1]"],
    [
      "an edge out of an end",
      changed(G, ["edges"], [first, { from: "done", to: "draft", label: "again" }]),
      "$.edges[1]",
    ],
    [
      "a decision without a choice",
      {
        ...changed(G, ["nodes", 0, "type"], "decision"),
        "steps/draft.md": stepDocument("draft", "decision"),
      },
      "$.nodes[0]",
    ],
  ])("%s is warned of", async (_, files, path) => {
    const place = world();
    place.writeDirectory({ ...files, "steps/island.md": stepDocument("island", "step") });
    const { code, findings } = await place.install(place.source);
    expect(code).toBe("ok");
    expect(findings).toContainEqual(expect.objectContaining({ severity: "warning", file: G, path }));
  });
});

describe("step files and workflow documents", () => {
  const step = "steps/draft.md";
  const doc = "workflow.md";
  const front = (yaml: string) => `---\n${yaml}\n---\nbody\n`;
  const good = 'schemaVersion: "1.1"\nnodeId: draft\ntype: step';
  const wf = 'schemaVersion: "1.1"\nworkflowType: tiny';
  checkRows([
    ["a step with more", withFiles({ [step]: front(`${good}\nanything: [1, 2]\ntitle: x`) })],
    ["a step with CRLF", withFiles({ [step]: front(good).replaceAll("\n", "\r\n") })],
    ["a step with a byte-order mark", withFiles({ [step]: `\ufeff${front(good)}` })],
    ["a step with an unquoted version", withFiles({ [step]: front(good.replaceAll('"', "")) })],
    ["a step without front matter", withFiles({ [step]: "Do it.\n" }), step],
    ["an empty step", withFiles({ [step]: "" }), step],
    ["a step in JavaScript", withFiles({ [step]: "---js\nprocess.exit(9)\n---\n" }), step],
    ["a step of another node", withFiles({ [step]: stepDocument("done", "step") }), step, "$.nodeId"],
    ["a step of another type", withFiles({ [step]: stepDocument("draft", "end") }), step, "$.type"],
    [
      "a step of no type",
      withFiles({ [step]: front('schemaVersion: "1.1"\nnodeId: draft') }),
      step,
      "$.type",
    ],
    [
      "a step of another version",
      withFiles({ [step]: front(good.replace("1.1", "1.0")) }),
      step,
      "$.schemaVersion",
    ],
    [
      "a step's agent that is not there",
      withFiles({ [step]: front(`${good}\nagentId: nobody`) }),
      step,
      "$.agentId",
    ],
    [
      "a step's transitions",
      withFiles({ [step]: front(`${good}\ntransitions: [{ to: done, label: finished }]`) }),
    ],
    [
      "a transition without a label",
      withFiles({ [step]: front(`${good}\ntransitions: [{ to: done }]`) }),
      step,
      "$.transitions[0].label",
    ],
    ["a step's inputs that are a text", withFiles({ [step]: front(`${good}\ninputs: x`) }), step, "$.inputs"],
    ["a step with broken YAML", withFiles({ [step]: front(`${good}\na: [`) }), step],
    ["a step with a key twice", withFiles({ [step]: front(`${good}\ntype: step`) }), step],
    ["a step with a cycle", withFiles({ [step]: front(`${good}\na: &a [*a]`) }), step],
    ["a step with a tag", withFiles({ [step]: front(`${good}\na: !!js/function "x"`) }), step],
    [
      "a step that is not UTF-8",
      withFiles({ [step]: Buffer.concat([Buffer.from(front(good)), Buffer.from([0xff])]) }),
      step,
    ],
    ["a step that is missing", withFiles({}, step), G, "$.nodes[0].file"],
    ["a step of five megabytes", withFiles({ [step]: `${front(good)}${LONG}` }), step],
    ["a document without front matter", withFiles({ [doc]: "# text" }), doc],
    ["a document of no type", withFiles({ [doc]: front('schemaVersion: "1.1"') }), doc, "$.workflowType"],
    [
      "a document of an empty type",
      withFiles({ [doc]: front('schemaVersion: "1.1"\nworkflowType: ""') }),
      doc,
      "$.workflowType",
    ],
    [
      "a document of another version",
      withFiles({ [doc]: front(wf.replace("1.1", "2")) }),
      doc,
      "$.schemaVersion",
    ],
    [
      "a document whose steps are a text",
      withFiles({ [doc]: front(`${wf}\nstepsCompleted: x`) }),
      doc,
      "$.stepsCompleted",
    ],
    [
      "a document whose node is null",
      withFiles({ [doc]: front(`${wf}\ncurrentNodeId: null`) }),
      doc,
      "$.currentNodeId",
    ],
    [
      "a document with a decision of more",
      withFiles({ [doc]: front(`${wf}\ndecisionLog: [{from: a, to: b, label: c, x: 1}]`) }),
      doc,
      "$.decisionLog[0]",
    ],
    [
      "a document with all there is",
      withFiles({
        [doc]: front(`${wf}\ncurrentNodeId: draft\nstepsCompleted: [x]\nvariables: {}\nmine: {b: 2}`),
      }),
    ],
    [
      "a document with front matter over 128 KiB",
      withFiles({ [doc]: front(`${wf}\na: ${"x".repeat(131_072)}`) }),
      doc,
    ],
    [
      "a document with a long body",
      withFiles({ [doc]: `${workflowDocument("tiny")}${"x".repeat(1_000_000)}` }),
    ],
  ]);

  test("a document that has variables is taken, and told of: runs begin without any", async () => {
    const place = world();
    place.writeDirectory(
      withFiles({
        [doc]: front(`${wf}\ncurrentNodeId: draft\nstepsCompleted: [x]\nvariables: {a: 1}\nmine: {b: 2}`),
      }),
    );
    const { code, findings } = await place.install(place.source);
    const places = findings.map(({ file, path }) => `${file} ${path}`);
    expect({ code, places }).toEqual({ code: "ok", places: [`${doc} $.variables`] });
  });
});

describe("paths inside a package", () => {
  const hostile: readonly string[] = [
    "/etc/passwd",
    "//server/share",
    "../outside/secret.txt",
    "steps/../../outside/secret.txt",
    "steps/../workflow.md",
    "..",
    "C:/x.md",
    "c:x.md",
    "steps\\draft.md",
    "..\\outside\\secret.txt",
    "steps/draft.md\0",
    "steps/\ndraft.md",
    "steps/draft\u2028.md",
    "",
    ".",
    "./",
    "steps",
    "steps/",
    "steps/draft.md/",
    "steps/draft.md/.",
    "Steps/draft.md",
    "steps/Draft.md",
    "steps/draft.MD",
    "steps%2fdraft.md",
    "file:steps/draft.md",
    " steps/draft.md",
    "steps/draft.md ",
    "~/x.md",
    "@pkg/steps/draft.md",
    "{project-root}/x.md",
    "x".repeat(300),
    `${"x/".repeat(600)}y.md`,
    "steps/\ud800.md",
    "__proto__",
    "constructor",
  ];
  checkRows(
    hostile.flatMap((path): Row[] => [
      [
        `a node's file ${JSON.stringify(path).slice(0, 40)}`,
        changed(G, ["nodes", 0, "file"], path),
        G,
        "$.nodes[0].file",
      ],
      [
        `the entry's graph ${JSON.stringify(path).slice(0, 40)}`,
        changed(M, ["entry", "graph"], path),
        M,
        "$.entry.graph",
      ],
      [
        `the entry's agents ${JSON.stringify(path).slice(0, 40)}`,
        changed(M, ["entry", "agents"], path),
        M,
        "$.entry.agents",
      ],
    ]),
  );
  checkRows([
    ["a dot segment", changed(G, ["nodes", 0, "file"], "./steps/./draft.md")],
    ["two slashes", changed(G, ["nodes", 0, "file"], "steps//draft.md")],
    [
      "an odd name",
      withFiles({
        ...changed(G, ["nodes", 0, "file"], "steps/ö 😀 '$(x)'.md"),
        "steps/ö 😀 '$(x)'.md": stepDocument("draft", "step"),
      }),
    ],
    ["assets", changed(M, ["entry", "assetsDir"], "assets")],
    ["assets that are a file", changed(M, ["entry", "assetsDir"], "workflow.md"), M, "$.entry.assetsDir"],
    ["assets outside", changed(M, ["entry", "assetsDir"], "../outside"), M, "$.entry.assetsDir"],
    ["names that differ by case", withFiles({ "assets/A.txt": "1", "assets/a.txt": "2" }), "assets/a.txt"],
    ["names that differ by Unicode form", withFiles({ "e\u0301.txt": "1", "\u00e9.txt": "2" }), "\u00e9.txt"],
  ]);
});

describe("directories that are no packages", () => {
  const cases: readonly (readonly [
    string,
    (place: PackageWorld) => void,
    string,
    ...(readonly [string] | readonly []),
  ])[] = [
    ["an empty directory", (place) => place.writeDirectory({}), INVALID, M],
    [
      "a package one folder down",
      (place) =>
        place.writeDirectory(
          Object.fromEntries(
            Object.entries(validPackage()).map(([path, content]) => [`inner/${path}`, content]),
          ),
        ),
      INVALID,
      M,
    ],
    [
      "nothing at all",
      (place) => rmSync(place.source, { recursive: true, force: true }),
      "E_PACKAGE_NOT_FOUND",
    ],
    [
      "folders that differ by case",
      (place) => place.writeDirectory(withFiles({ "Assets/b.txt": "1" })),
      INVALID,
      "ssets",
    ],
    [
      "a link to a file outside",
      (place) => {
        place.writeDirectory(withFiles({}, "assets/template.txt"));
        symlinkSync("../../outside/secret.txt", join(place.source, "assets.txt"));
      },
      INVALID,
      "assets.txt",
    ],
    [
      "a link to a directory outside",
      (place) => {
        place.writeDirectory(validPackage());
        symlinkSync(join(place.base, "outside"), join(place.source, "more"));
      },
      INVALID,
      "more",
    ],
    [
      "a link in the place of a step",
      (place) => {
        place.writeDirectory(withFiles({ "real.md": stepDocument("draft", "step") }, "steps/draft.md"));
        symlinkSync("../real.md", join(place.source, "steps/draft.md"));
      },
      INVALID,
      "steps/draft.md",
    ],
    [
      "a link in the place of the manifest",
      (place) => {
        place.writeDirectory(withFiles({ "real.json": validPackage()[M] }, M));
        symlinkSync("real.json", join(place.source, M));
      },
      INVALID,
      M,
    ],
    [
      "a link that leads nowhere",
      (place) => {
        place.writeDirectory(validPackage());
        symlinkSync("nowhere", join(place.source, "x"));
      },
      INVALID,
      "x",
    ],
    [
      "a loop",
      (place) => {
        place.writeDirectory(validPackage());
        symlinkSync(".", join(place.source, "loop"));
      },
      INVALID,
      "loop",
    ],
    [
      "a pipe",
      (place) => {
        place.writeDirectory(validPackage());
        execFileSync("sh", ["-c", 'mkfifo "$0"', join(place.source, "assets/pipe")]);
      },
      INVALID,
      "assets/pipe",
    ],
    [
      "a pipe in the place of a step",
      (place) => {
        place.writeDirectory(withFiles({}, "steps/draft.md"));
        execFileSync("sh", ["-c", 'mkfifo "$0"', join(place.source, "steps/draft.md")]);
      },
      INVALID,
      "steps/draft.md",
    ],
    [
      "a name that is not UTF-8",
      (place) => {
        place.writeDirectory(validPackage());
        writeFileSync(Buffer.concat([Buffer.from(`${place.source}/`), Buffer.from([0x61, 0xff])]), "x");
      },
      INVALID,
    ],
    [
      "a name with a backslash",
      (place) => {
        place.writeDirectory(validPackage());
        writeFileSync(join(place.source, "a\\b"), "x");
      },
      INVALID,
      "a\\b",
    ],
    [
      "more than 256 MiB",
      (place) => {
        place.writeDirectory(validPackage());
        writeFileSync(join(place.source, "big"), "");
        truncateSync(join(place.source, "big"), 257 * 1024 * 1024);
      },
      INVALID,
      ".",
    ],
    [
      "folders without end",
      (place) => {
        place.writeDirectory(validPackage());
        mkdirSync(join(place.source, "d/".repeat(70)), { recursive: true });
      },
      INVALID,
      "d/d",
    ],
    [
      "a pipe in the place of the package",
      (place) => {
        rmSync(place.source, { recursive: true, force: true });
        execFileSync("sh", ["-c", 'mkfifo "$0"', place.source]);
      },
      INVALID,
      ".",
    ],
    [
      "a link in the place of the package is followed: the path is the user's own",
      (place) => {
        place.writeDirectory(validPackage());
        execFileSync("mv", [place.source, `${place.source}-real`]);
        symlinkSync(`${place.source}-real`, place.source);
      },
      "ok",
    ],
    [
      "litter is left out",
      (place) => {
        place.writeDirectory(withFiles({ ".git/config": "x", ".DS_Store": "x", "steps/.DS_Store": "x" }));
        symlinkSync("/etc/passwd", join(place.source, ".git/link"));
      },
      "ok",
    ],
    [
      "modes do not matter",
      (place) => {
        place.writeDirectory(validPackage());
        chmodSync(join(place.source, "steps/draft.md"), 0o777);
      },
      "ok",
    ],
  ];
  test.each(cases.map(([name, ...rest]) => ({ name, rest })))("$name", async ({ rest }) => {
    const [arrange, code, file] = rest;
    const place = world();
    rmSync(place.source, { recursive: true, force: true });
    arrange(place);
    const verdict = await place.install(place.source);
    rmSync(`${place.source}-real`, { recursive: true, force: true });
    rmSync(place.source, { recursive: true, force: true });
    const files = verdict.findings.map((finding) => finding.file);
    const isNamed = file === undefined || files.some((name) => name.includes(file));
    expect({ code: verdict.code, isNamed, files }).toEqual({ code, isNamed: true, files });
  });

  test.each(["", "\0", "nowhere", "/proc/self/mem", "/dev/null", "/dev/zero", "x".repeat(5000)])(
    "the path %j",
    async (path) => {
      expect(["E_PACKAGE_NOT_FOUND", INVALID]).toContain((await world().install(path)).code);
    },
  );
});

describe("package ids", () => {
  test.each([
    "",
    ".",
    "..",
    "../x",
    "/etc",
    "a/b",
    ".tmp-x",
    "\0",
    "x".repeat(300),
    "__proto__",
    "nowhere-1.0.0-0",
  ])("%j opens nothing and removes nothing", async (packageId) => {
    const { packages } = world().store;
    for (const result of [await packages.open(packageId), await packages.remove(packageId)]) {
      expect(result).toMatchObject({ ok: false, error: { code: "E_PACKAGE_NOT_FOUND" } });
    }
  });

  test.each(["../../etc", "..", "a/b", "😀", " ", "x".repeat(5000), "--help", "CON", "$(id)"])(
    "a package called %j gets a tame one",
    async (name) => {
      const place = world();
      place.writeDirectory(changed(M, ["name"], name));
      const { packageId } = await place.install(place.source);
      expect(packageId).toMatch(/^[a-z0-9][a-z0-9.-]{0,120}$/);
    },
  );

  test.each(HIDDEN)("a package with %j in its name gets none", async (hidden) => {
    const place = world();
    place.writeDirectory(changed(M, ["name"], `x${hidden}`));
    const { code, packageId, findings } = await place.install(place.source);
    expect({ code, packageId }).toEqual({ code: INVALID, packageId: undefined });
    expect(findings.map(({ file, path }) => `${file} ${path}`)).toContain(`${M} $.name`);
  });
});
