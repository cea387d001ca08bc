import { readdirSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { packageTestSchema } from "../../../src/core/package/package-test.js";
import { packageJsonSchemas, renderJsonSchema } from "../../../src/core/package/json-schemas.js";
import {
  agentsFileSchema,
  graphSchema,
  manifestSchema,
  stepFrontmatterSchema,
} from "../../../src/core/package/schemas.js";
import { attestationJsonSchemas } from "../../../src/attest/statement.js";
import { noticeJsonSchemas } from "../../../src/core/notify/notice.js";
import { eventJsonSchemas } from "../../../src/core/run/run-event.js";
import { frontmatterSchema } from "../../../src/core/state/state-frontmatter.js";
import { agent, validPackage } from "../../fakes/package-fixture.js";

const published = new URL("../../../schemas/", import.meta.url);
const examples = new URL("../../../examples/", import.meta.url);
const jsonOfExamples = readdirSync(examples, { recursive: true, encoding: "utf8" }).filter((file) =>
  /\/package\/[^/]+\.json$/.test(file),
);
const files = validPackage();
const manifest = files["bmad.json"];
const graph = files["workflow.graph.json"];
const node = graph.nodes[0];
const edge = graph.edges[0];
const state = { schemaVersion: "1.1", workflowType: "t", currentNodeId: "", stepsCompleted: [] };
const step = { schemaVersion: "1.1.3", nodeId: "a", type: "step" };
const withAgent = (change: object) => ({ schemaVersion: "1.1", agents: [{ ...agent("a"), ...change }] });
const withNode = (change: object) => ({ ...graph, nodes: [{ ...node, ...change }] });
const withEdge = (change: object) => ({ ...graph, edges: [{ ...edge, ...change }] });

interface Samples {
  readonly schema: z.ZodType;
  readonly valid: readonly unknown[];
  readonly invalid: readonly unknown[];
}

const SAMPLES: Readonly<Record<string, Samples>> = {
  "bmad.schema.json": {
    schema: manifestSchema,
    valid: [
      manifest,
      { ...manifest, $schema: "./node_modules/interlock/schemas/bmad.schema.json" },
      {
        ...manifest,
        schemaVersion: "1.1.12",
        version: "1.2.3-rc.1+build.05",
        createdAt: "2025-01-31T09:30:00Z",
      },
      { ...manifest, workflows: [{ id: "a", workflow: "w", graph: "g", tags: ["t"], displayName: "A" }] },
      { ...manifest, workflows: [], runtime: {}, integrity: {} },
      { ...manifest, runtime: { requiresNetwork: true, minRuntimeVersion: "1.0.0" } },
      { ...manifest, integrity: { sha256: "aB".repeat(32) } },
      { ...manifest, entry: { ...manifest.entry, assetsDir: "assets/" } },
    ],
    invalid: [
      {},
      [],
      null,
      { ...manifest, schemaVersion: "1.2" },
      { ...manifest, schemaVersion: "1.1.x" },
      { ...manifest, schemaVersion: 1.1 },
      { ...manifest, name: "" },
      { ...manifest, version: "1.0" },
      { ...manifest, version: "v1.0.0" },
      { ...manifest, version: "1.0.0-01" },
      { ...manifest, version: "01.0.0" },
      { ...manifest, createdAt: "yesterday" },
      { ...manifest, createdAt: "2025-02-30T00:00:00Z" },
      { ...manifest, surprise: 1 },
      { ...manifest, entry: { ...manifest.entry, surprise: 1 } },
      { ...manifest, entry: { workflow: "w", graph: "g" } },
      { ...manifest, workflows: [{ id: "a b", workflow: "w", graph: "g" }] },
      { ...manifest, workflows: [{ id: "a", workflow: "w", graph: "g", surprise: 1 }] },
      { ...manifest, runtime: { surprise: 1 } },
      { ...manifest, runtime: { requiresNetwork: "no" } },
      { ...manifest, integrity: { sha256: "ab" } },
      { ...manifest, integrity: { md5: "ab" } },
    ],
  },
  "agents.schema.json": {
    schema: agentsFileSchema,
    valid: [
      files["agents.json"],
      withAgent({ menu: [{ description: "d", trigger: "x", any: { thing: 1 } }] }),
      withAgent({ prompts: [{ id: "p", content: "c" }], critical_actions: ["a"], systemPrompt: "s" }),
      withAgent({ tools: { fs: { enabled: false, maxReadBytes: 1, maxWriteBytes: 10 }, mcp: {} } }),
      withAgent({ conversational_knowledge: ["a", { b: [null, 1] }], discussion: true, webskip: false }),
      withAgent({ persona: { role: "", identity: "", communication_style: "", principles: "one text" } }),
    ],
    invalid: [
      { schemaVersion: "1.1", agents: [] },
      { schemaVersion: "1.1" },
      withAgent({ id: "-a" }),
      withAgent({ id: "a\n" }),
      withAgent({ surprise: 1 }),
      withAgent({ metadata: { name: "n", title: "t" } }),
      withAgent({ metadata: { name: "n", title: "t", icon: "i", surprise: 1 } }),
      withAgent({ persona: { role: "", identity: "", communication_style: "", principles: [] } }),
      withAgent({ persona: { role: "", identity: "", communication_style: "", principles: [1] } }),
      withAgent({ menu: [{ trigger: "x" }] }),
      withAgent({ tools: { fs: { maxReadBytes: 0 } } }),
      withAgent({ tools: { fs: { maxReadBytes: 1.5 } } }),
      withAgent({ tools: { shell: {} } }),
      withAgent({ tools: { mcp: { allowedServers: "all" } } }),
    ],
  },
  "workflow-graph.schema.json": {
    schema: graphSchema,
    valid: [
      graph,
      { ...graph, edges: [], metadata: { layout: { x: 1 } } },
      withNode({ title: "t", description: "d", inputs: ["a"], outputs: [] }),
      withEdge({
        id: "e:1",
        isDefault: true,
        conditionText: "c",
        conditionExpr: { "==": [1, { var: "x" }] },
      }),
    ],
    invalid: [
      { ...graph, nodes: [] },
      { ...graph, edges: undefined },
      { ...graph, surprise: 1 },
      { ...graph, metadata: [] },
      withNode({ type: "start" }),
      withNode({ file: "" }),
      withNode({ surprise: 1 }),
      withNode({ inputs: "a" }),
      withEdge({ label: "" }),
      withEdge({ surprise: 1 }),
      withEdge({ conditionExpr: true }),
      withEdge({ isDefault: 1 }),
    ],
  },
  "step-frontmatter.schema.json": {
    schema: stepFrontmatterSchema,
    valid: [
      step,
      { ...step, surprise: { kept: true } },
      { ...step, setsVariables: ["a"], transitions: [{ to: "b", label: "l", isDefault: true, more: 1 }] },
    ],
    invalid: [
      {},
      { ...step, nodeId: "" },
      { ...step, type: "begin" },
      { ...step, outputs: "a" },
      { ...step, transitions: [{ to: "b" }] },
    ],
  },
  "package-test.schema.json": {
    schema: packageTestSchema,
    valid: [
      {},
      { answers: [{ text: "Which?" }, { calls: [{ tool: "fs.read", arguments: { path: "a" } }] }] },
      { answers: { draft: [{ calls: [{ tool: "fs.read", arguments: "{" }, { tool: "fs.list" }] }] } },
      { files: { "a.md": "" }, project: "shop", replies: ["Yes."], story: "s-1", conditions: true },
      { expect: { phase: "failed", path: [], refusals: ["E_INTERNAL"], questions: [""] } },
      { expect: { artifacts: [{ path: "a", contains: ["b"], matches: "c", sha256: "0".repeat(64) }] } },
    ],
    invalid: [
      { surprise: 1 },
      { name: "" },
      { answers: [{ calls: [{ arguments: {} }] }] },
      { answers: { "": [] } },
      { answers: { draft: [{ say: "a" }] } },
      { replies: [""] },
      { expect: { phase: "done" } },
      { expect: { artifacts: [{ path: "a", sha256: "0" }] } },
      { expect: { artifacts: [{ contains: "a" }] } },
    ],
  },
  "workflow-frontmatter.schema.json": {
    schema: frontmatterSchema,
    valid: [
      state,
      { ...state, surprise: [1], date: "2025-01-31", variables: { a: { b: 1 } } },
      { ...state, updatedAt: "2025-01-31T09:30:00.123+02:00", artifacts: ["artifacts/a.md"], runId: "r" },
      { ...state, decisionLog: [{ from: "a", to: "b", label: "l", reason: "r", decidedAt: "now" }] },
    ],
    invalid: [
      {},
      { ...state, workflowType: "" },
      { ...state, currentNodeId: null },
      { ...state, stepsCompleted: [1] },
      { ...state, stepsCompleted: undefined },
      { ...state, updatedAt: "2025-01-31" },
      { ...state, decisionLog: [{ from: "a", to: "b", label: "l", surprise: 1 }] },
      { ...state, variables: [] },
    ],
  },
};

/** The fields of a JSON Schema without a description, by their paths. */
function undescribed(schema: unknown, path = ""): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]) => {
    if (key !== "properties") return undescribed(value, path);
    return Object.entries<{ readonly description?: string }>(value).flatMap(([name, field]) => {
      const place = path === "" ? name : `${path}.${name}`;
      return [...(field.description === undefined ? [place] : []), ...undescribed(field, place)];
    });
  });
}

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("published JSON Schemas", () => {
  test("are what the zod schemas give (else: node scripts/generate-schemas.mjs)", async () => {
    const families = [packageJsonSchemas, eventJsonSchemas, noticeJsonSchemas, attestationJsonSchemas];
    const generated = new Map(families.flatMap((family) => [...family()]));
    expect((await readdir(published)).sort()).toEqual([...generated.keys()].sort());
    for (const [name, schema] of generated) {
      expect(await readFile(new URL(name, published), "utf8")).toBe(renderJsonSchema(schema));
    }
  });

  test.each(Object.keys(SAMPLES))("%s has an id, a title and its dialect, and compiles", async (name) => {
    const schema = JSON.parse(await readFile(new URL(name, published), "utf8"));
    expect(schema).toMatchObject({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $id: `urn:interlock:package:1.1:${name.replace(".schema.json", "")}`,
      title: expect.any(String),
    });
    expect(() => compile(schema)).not.toThrow();
  });

  test.each(readdirSync(published))("%s says of each field what it is: an editor shows it", async (name) => {
    const schema: unknown = JSON.parse(await readFile(new URL(name, published), "utf8"));
    expect(undescribed(schema)).toEqual([]);
  });

  test("a field that nothing is said of is found, however deep it lies", () => {
    const inner = z.strictObject({ said: z.string().describe("This."), silent: z.string() });
    const outer = z.strictObject({ list: z.array(z.union([z.string(), inner])).describe("Some.") });
    expect(undescribed(z.toJSONSchema(outer))).toEqual(["list.silent"]);
  });

  test.each(jsonOfExamples)("%s names its schema, for editors, and keeps to it", async (file) => {
    const place = new URL(file, examples);
    const document = JSON.parse(await readFile(place, "utf8"));
    const schema = JSON.parse(await readFile(new URL(document.$schema, place), "utf8"));
    const expected = file
      .slice(file.lastIndexOf("/") + 1)
      .replace(".json", "")
      .replace(".", "-");
    expect(schema.$id).toBe(`urn:interlock:package:1.1:${expected}`);
    expect(compile(schema)(document)).toBe(true);
  });

  for (const [name, { schema, valid, invalid }] of Object.entries(SAMPLES)) {
    test(`${name} agrees with the schema that loading uses`, async () => {
      const validate = compile(JSON.parse(await readFile(new URL(name, published), "utf8")));
      const isAccepted = (sample: unknown) => [schema.safeParse(sample).success, validate(sample)];
      const verdicts = (samples: readonly unknown[]) =>
        samples.map(asJson).map((sample) => [sample, ...isAccepted(sample)]);
      expect(verdicts(valid)).toEqual(valid.map(asJson).map((sample) => [sample, true, true]));
      expect(verdicts(invalid)).toEqual(invalid.map(asJson).map((sample) => [sample, false, false]));
    });
  }
});

function compile(schema: object) {
  return new Ajv2020({ strict: true, strictRequired: false, formats: { "date-time": true } }).compile(schema);
}

describe("an id", () => {
  const ofLength = (length: number): string => "a".repeat(length);
  const accepts = (schema: z.ZodType, value: unknown): boolean => schema.safeParse(value).success;

  test.each<[string, z.ZodType, (id: string) => unknown]>([
    ["of a node", graphSchema, (id) => withNode({ id })],
    ["of a node's agent", graphSchema, (id) => withNode({ agentId: id })],
    ["of an edge", graphSchema, (id) => withEdge({ id })],
    ["at an edge's end", graphSchema, (id) => withEdge({ to: id })],
    ["of the entry node", graphSchema, (entryNodeId) => ({ ...graph, entryNodeId })],
    ["of an agent", agentsFileSchema, (id) => withAgent({ id })],
    [
      "of a workflow",
      manifestSchema,
      (id) => ({ ...manifest, workflows: [{ id, workflow: "w", graph: "g" }] }),
    ],
    ["of a step's node", stepFrontmatterSchema, (nodeId) => ({ ...step, nodeId })],
  ])("%s has at most 200 characters: longer ones make the server end the run", (_name, schema, value) => {
    expect(accepts(schema, value(ofLength(200)))).toBe(true);
    expect(accepts(schema, value(ofLength(201)))).toBe(false);
  });
});
