import assert from "node:assert/strict";
import * as fc from "fast-check";
import {
  type Fields,
  GRAPH,
  type Update,
  applied,
  documentOf,
  fields,
  fieldsOf,
  partsOf,
  transition,
} from "../corpus/state-model.js";
import { World, codeOf, sha256 } from "../corpus/world.js";
import { LazyWorld } from "./lazy-world.js";
import type { Property } from "./property.js";
import { json, text, viaJson } from "./texts.js";

/** Sequences of updates and whole documents, held against a model that is a plain object. */

interface Step {
  readonly update?: Update;
  readonly write?: Fields;
  /** The steps of the document that is written are those of the old one and its own. */
  readonly keep?: boolean;
  readonly body?: string;
  readonly version?: "none" | "current" | "other";
}

interface StateCase {
  readonly start: Fields;
  readonly steps: readonly Step[];
}

const PATH = "@state/workflow.md";
const graphNode = fc.constantFrom("", ...GRAPH.nodes.map((node) => node.id));
const nodeId = fc.oneof(
  { weight: 14, arbitrary: graphNode },
  {
    weight: 1,
    arbitrary: fc.constantFrom(" ask ", "middle\n", "nowhere", "Ask", "__proto__", "constructor"),
  },
  { weight: 1, arbitrary: text },
);
const TIMES = ["2025-01-31T09:30:00Z", "2025-01-31T09:30:00+02:00", "2025-01-31T09:30:00.123456Z"];
const time = fc.constantFrom(...TIMES, ...TIMES, "yesterday", "2025-01-31");
const decision = fc.record(
  { from: text, to: text, label: text, reason: text },
  { requiredKeys: ["from", "to", "label"] },
);
const key = text.filter((name) => name !== "__proto__");
const values = fc.dictionary(key, json, { maxKeys: 3, noNullPrototype: true }) as fc.Arbitrary<Fields>;

/** What may be listed, and `..`; what else may not is `test/core/state/listed-names.test.ts`. */
const ids = fc.array(fc.stringMatching(/^[a-z][a-z._:-]{0,4}$/), { maxLength: 4 });
const paths = fc.array(fc.stringMatching(/^[a-z]{1,3}(\/[a-z .~%-]{1,4}){0,2}$/), { maxLength: 4 });

const update: fc.Arbitrary<Update> = fc
  .record(
    {
      stepsCompleted: fc.record({ append: ids }),
      artifacts: fc.record({ append: paths }),
      decisionLog: fc.record({ append: fc.array(decision, { maxLength: 2 }) }),
      variables: fc.record({ set: values }),
      currentNodeId: fc.record({ set: nodeId }),
      updatedAt: fc.record({ set: time }),
    },
    { requiredKeys: [] },
  )
  .map((value) => viaJson(value) as Update);

const document: fc.Arbitrary<Fields> = fc
  .record({ currentNodeId: nodeId, stepsCompleted: ids, artifacts: paths, variables: values, own: json })
  .map(({ own, ...known }) => viaJson(fields({ ...known, own: own as Fields[string] })));

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record(
    { update, version: fc.constantFrom("none", "none", "current", "current", "other") },
    { requiredKeys: ["update"] },
  ),
  fc.record({
    write: document,
    keep: fc.constantFrom(true, true, false),
    body: fc.string({ maxLength: 20 }),
  }),
);

const cases: fc.Arbitrary<StateCase> = fc.record({
  start: fc.tuple(document, graphNode).map(([start, currentNodeId]) => ({ ...start, currentNodeId })),
  steps: fc.array(step, { minLength: 1, maxLength: 5 }),
});

function stepsOf(document: Fields): string[] {
  return document["stepsCompleted"] as string[];
}

/** What is listed only now: what a document lists already stays (contracts §7). */
function newArtifacts(before: Fields, after: Fields): string[] {
  const known = before["artifacts"] as string[];
  return (after["artifacts"] as string[]).filter((path) => !known.includes(path));
}

/** The one thing that may not be listed and that `paths` make. */
function leadsUp(path: string): boolean {
  return path.split("/").includes("..");
}

function isTime(value: string): boolean {
  return /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(value);
}

/** What the guard says of the fields that would replace others, and then of what the lists gain. */
function verdict(before: Fields, after: Fields): string {
  if (after["updatedAt"] !== undefined && !isTime(after["updatedAt"] as string)) return "E_SCHEMA_VALIDATION";
  const moved = transition(before["currentNodeId"] as string, after["currentNodeId"] as string);
  if (moved !== "ok") return moved;
  const isKept = stepsOf(before).every((done) => stepsOf(after).includes(done));
  if (!isKept) return "E_INVALID_TRANSITION";
  return newArtifacts(before, after).some(leadsUp) ? "E_SCHEMA_VALIDATION" : "ok";
}

async function check(world: World, { start, steps }: StateCase): Promise<void> {
  if (!JSON.stringify(start).isWellFormed()) return;
  world.reset(documentOf(start));
  let now = start;
  for (const one of steps) {
    const bytes = world.read("state/workflow.md");
    if (one.write === undefined) now = await patch(world, now, one, bytes);
    else {
      const steps = [...(one.keep === true ? stepsOf(now) : []), ...stepsOf(one.write)];
      now = await write(world, now, { ...one.write, stepsCompleted: steps }, one.body ?? "");
    }
  }
}

async function patch(
  world: World,
  before: Fields,
  { update: change = {}, version }: Step,
  bytes: Buffer,
): Promise<Fields> {
  const isEmpty = Object.keys(change).length === 0;
  const after = applied(before, change);
  const ifMatchSha256 = { none: undefined, current: sha256(bytes), other: sha256("other") }[
    version ?? "none"
  ];
  const code = isEmpty
    ? "TOOL_ARGS_INVALID"
    : version === "other"
      ? "E_PRECONDITION_FAILED"
      : verdict(before, after);
  const patchArguments = { operation: "updateFrontmatter", update: change, ifMatchSha256 };
  const { result, changes } = await world.call({
    tool: "fs.apply_patch",
    args: { path: PATH, patch: patchArguments },
  });
  assert.equal(codeOf(result), code, JSON.stringify(result));
  assert.deepEqual(changes, code === "ok" ? ["state/workflow.md"] : []);
  if (code !== "ok") return before;
  const written = world.read("state/workflow.md");
  assert.equal(partsOf(written).tail, partsOf(bytes).tail, "the body");
  const { updatedAt, ...rest } = fieldsOf(written);
  const { updatedAt: _, ...wanted } = after;
  assert.deepEqual(rest, wanted);
  return { ...rest, updatedAt: updatedAt ?? "" };
}

async function write(world: World, before: Fields, after: Fields, body: string): Promise<Fields> {
  const content = documentOf(after, `\n${body}`);
  const code = content.isWellFormed() ? verdict(before, after) : "TOOL_ARGS_INVALID";
  const { result, changes } = await world.call({ tool: "fs.write", args: { path: PATH, content } });
  assert.equal(codeOf(result), code, JSON.stringify(result));
  assert.deepEqual(changes, code === "ok" ? ["state/workflow.md"] : []);
  if (code !== "ok") return before;
  assert.equal(world.read("state/workflow.md").toString(), content);
  return after;
}

export function stateProperty(): Property<StateCase> {
  const world = new LazyWorld(() => World.open(), 300);
  return {
    name: "state",
    cases,
    check: (one) => world.use((place) => check(place, one)),
    close: () => world.close(),
  };
}
