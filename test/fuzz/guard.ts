import assert from "node:assert/strict";
import * as fc from "fast-check";
import { type WorkflowGraph, validateWorkflowStateUpdate } from "../../src/index.js";
import type { Property } from "./property.js";

/** The guard on random graphs, held against its four rules written down once more. */

interface Side {
  readonly node: unknown;
  readonly steps: unknown;
}

interface GuardCase {
  readonly nodes: readonly string[];
  readonly entry: number;
  readonly edges: readonly (readonly [number, number])[];
  readonly before: { readonly node: string; readonly steps: readonly string[] };
  readonly after: Side;
}

const name = fc.constantFrom("a", "b", "c", "constructor", "toString", "A", "n.1:x_y-z");
const raw = fc.oneof(
  name,
  name.map((id) => ` ${id}\n`),
  fc.constantFrom("", " ", "__proto__", "nowhere", "\u00a0"),
);
const steps = fc.array(fc.oneof(name, fc.constantFrom("", "x", "__proto__")), { maxLength: 4 });

const cases: fc.Arbitrary<GuardCase> = fc.record({
  nodes: fc.uniqueArray(name, { minLength: 1, maxLength: 5 }),
  entry: fc.nat({ max: 4 }),
  edges: fc.array(fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 4 })), { maxLength: 8 }),
  before: fc.record({ node: raw, steps }),
  after: fc.record({
    node: fc.oneof(
      { weight: 8, arbitrary: raw },
      { weight: 1, arbitrary: fc.constantFrom(null, 1, ["a"], {}) },
    ),
    steps: fc.oneof(
      { weight: 8, arbitrary: steps },
      { weight: 1, arbitrary: fc.constantFrom(null, "a", [1], {}) },
    ),
  }),
});

async function check({ nodes, entry, edges, before, after }: GuardCase): Promise<void> {
  const at = (index: number) => nodes[index % nodes.length] ?? "";
  const graph: WorkflowGraph = {
    entryNodeId: at(entry),
    nodes: nodes.map((id) => ({ id, type: "step", file: `${id}.md` })),
    edges: edges.map(([from, to], index) => ({ from: at(from), to: at(to), label: `${index}` })),
  };
  const document = (side: Side) => ({
    schemaVersion: "1.1",
    workflowType: "x",
    currentNodeId: side.node,
    stepsCompleted: side.steps,
  });
  const verdict = validateWorkflowStateUpdate(document(before) as never, document(after) as never, graph);
  const isText = (value: unknown) => typeof value === "string";
  const isValid = isText(after.node) && Array.isArray(after.steps) && after.steps.every(isText);
  const effective = (value: string) => (value.trim() === "" ? graph.entryNodeId : value.trim());
  const from = effective(before.node);
  const out = graph.edges.filter((edge) => edge.from === from);
  if (!isValid) {
    assert.equal(verdict.ok ? "ok" : verdict.error.code, "E_SCHEMA_VALIDATION");
    return;
  }
  const to = effective(after.node);
  const mayGo = nodes.includes(to) && (from === to || out.some((edge) => edge.to === to));
  const removed = [...new Set(before.steps.filter((step) => !(after.steps as string[]).includes(step)))];
  assert.equal(verdict.ok, mayGo && removed.length === 0);
  if (verdict.ok) return;
  assert.equal(verdict.error.code, "E_INVALID_TRANSITION");
  const { removedSteps, ...details } = verdict.error.details ?? {};
  assert.deepEqual(details, {
    from,
    to,
    allowedNext: out.map((edge) => ({ to: edge.to, label: edge.label })),
  });
  assert.deepEqual(removedSteps, mayGo ? removed : undefined);
  assert.ok(verdict.error.message.includes(`${from} → ${to}`));
}

export function guardProperty(): Property<GuardCase> {
  return { name: "guard", cases, check, close: async () => undefined };
}
