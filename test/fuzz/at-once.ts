import assert from "node:assert/strict";
import * as fc from "fast-check";
import { fieldsOf } from "../corpus/state-model.js";
import { World, codeOf, sha256 } from "../corpus/world.js";
import { LazyWorld } from "./lazy-world.js";
import type { Property } from "./property.js";

/** Calls made at once, some under one id: each id has one effect and one result, and nothing is lost or half done. */

interface OnceCall {
  /** Calls with one id are one call. */
  readonly id: number;
  readonly kind: "read" | "write" | "artifact" | "patch" | "list" | "search" | "document" | "broken";
  readonly value: number;
}

const cases: fc.Arbitrary<OnceCall[]> = fc.array(
  fc.record({
    id: fc.nat({ max: 9 }),
    kind: fc.constantFrom("read", "write", "artifact", "patch", "list", "search", "document", "broken"),
    value: fc.nat({ max: 3 }),
  }),
  { minLength: 2, maxLength: 12 },
);

function toolCall({ kind, value }: OnceCall): { tool: string; args?: object; raw?: string } {
  const update = { variables: { set: { [`v${value}`]: value } }, stepsCompleted: { append: [`s${value}`] } };
  switch (kind) {
    case "read":
      return { tool: "fs.read", args: { path: "@project/notes.txt" } };
    case "write":
      return {
        tool: "fs.write",
        args: { path: "@project/notes.txt", content: `${value}`.repeat(3000 * (value + 1)) },
      };
    case "artifact":
      return {
        tool: "fs.write",
        args: { path: `@project/artifacts/n/${value}.md`, content: `artifact ${value}` },
      };
    case "patch":
      return {
        tool: "fs.apply_patch",
        args: { path: "@state/workflow.md", patch: { operation: "updateFrontmatter", update } },
      };
    case "list":
      return { tool: "fs.list", args: { path: "@project/artifacts" } };
    case "search":
      return { tool: "fs.search", args: { path: "@project", pattern: "artifact" } };
    case "document":
      return { tool: "fs.read", args: { path: "@state/workflow.md" } };
    case "broken":
      return { tool: "fs.write", raw: "{" };
  }
}

let round = 0;

async function check(world: World, calls: readonly OnceCall[]): Promise<void> {
  round += 1;
  world.reset();
  // One id is one call, whatever the others under that id would have been.
  const first = new Map(calls.toReversed().map((call) => [call.id, call]));
  const made = calls.map((call) => ({
    id: `once-${round}-${call.id}`,
    ...toolCall(first.get(call.id) ?? call),
  }));
  const results = await world.callAtOnce(made);
  const known = new Map<string, string>();
  for (const [index, result] of results.entries()) {
    const { id } = made[index] ?? { id: "" };
    const shown = JSON.stringify(result);
    assert.equal(known.get(id) ?? shown, shown, "equal ids, equal results");
    known.set(id, shown);
    const kind = first.get(calls[index]?.id ?? -1)?.kind;
    if (kind === "broken") assert.equal(codeOf(result), "TOOL_ARGS_INVALID_JSON");
    else assert.equal(codeOf(result), "ok", shown);
    if (kind === "read" && result.ok) {
      const content = result["content"] as string;
      assert.match(content, /^(?:(\d)\1*|alpha\nbeta\ngamma\n)$/, "a reader sees a whole file");
      assert.equal(result["sha256"], sha256(content));
    }
  }
  const fields = fieldsOf(world.read("state/workflow.md"));
  const all = [...first.values()];
  const of = (kind: OnceCall["kind"]) =>
    new Set(all.filter((call) => call.kind === kind).map((call) => call.value));
  assert.deepEqual(
    new Set(fields["artifacts"] as string[]),
    new Set([...of("artifact")].map((value) => `artifacts/n/${value}.md`)),
  );
  assert.deepEqual(
    new Set(fields["stepsCompleted"] as string[]),
    new Set([...of("patch")].map((value) => `s${value}`)),
  );
  assert.equal(
    (fields["artifacts"] as string[]).length,
    of("artifact").size,
    "each artifact is recorded once",
  );
}

export function atOnceProperty(): Property<OnceCall[]> {
  const world = new LazyWorld(() => World.open(), 300);
  return {
    name: "at once",
    cases,
    check: (calls) => world.use((place) => check(place, calls)),
    close: () => world.close(),
  };
}
