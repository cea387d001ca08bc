import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createContext, runInContext } from "node:vm";
import { beforeAll, describe, expect, test } from "vitest";
import { bundleWorkflows } from "../../src/worker/workflow-bundle.js";

/* Runs of one worker share the modules of core and contract: what one of them kept there, all others would meet. */

const SRC = fileURLToPath(new URL("../../src", import.meta.url));
const INTERCEPTORS = join(SRC, "instruments/trace-workflows.ts");
const OURS = /\/src\/((?:core|contract)\/.*)$/;

/** What in a module would outlive the run that wrote it. */
function keptIn(source: string): readonly string[] {
  const found = [
    ...source.matchAll(/^(?:export )?(?:let|var) .*/gm),
    ...source.matchAll(/^\s+(?:\w+ )?static (?!readonly\b|\w+\(|async\b|of\b).*[=;]/gm),
    // Frozen are lists and objects, not collections: those say that nobody changes them, or nobody is shown them.
    ...source.matchAll(/^export const \w+ = new (?:Map|Set|WeakMap|WeakSet)\b.*/gm),
    ...source.matchAll(/^(?:export )?const \w+(?:: [^=]+)? = new Weak(?:Map|Set)\b.*/gm),
  ].map(([line]) => line.trim());
  const constants = [...source.matchAll(/^(?:export )?const (\w+)[^=]* = (.*)/gm)];
  for (const [, name = "", value = ""] of constants) {
    const changes = `(?<![\\w.])${name}(?:\\.(?:set|add|delete|clear|push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin)\\(|(?:\\.\\w+|\\[[^\\]]+\\])\\s*(?:[-+*/|&?]{0,2}=)(?!=))`;
    found.push(...[...source.matchAll(new RegExp(changes, "g"))].map(([text]) => text));
    // An expression with g or y remembers where it was.
    if (/\/[a-z]*[gy][a-z]*;$/.test(value)) {
      found.push(
        ...[...source.matchAll(new RegExp(`\\b${name}\\.(?:exec|test)\\(`, "g"))].map(([text]) => text),
      );
    }
  }
  return found;
}

describe("what a module keeps", () => {
  test.each([
    "let last = 0;",
    "export const seen = new Set<string>();",
    "const byRun = new WeakMap<object, string>();",
    "class A {\n  static count = 0;\n}",
    "const known = new Map<string, number>();\nfunction f() {\n  known.set('a', 1);\n}",
    "const LIST: string[] = [];\nconst f = () => LIST.push('a');",
    "const LIMITS = { most: 1 };\nfunction f() {\n  LIMITS.most = 2;\n}",
    "const NAME = /a/g;\nconst f = (text: string) => NAME.test(text);",
  ])("is seen: %j", (source) => {
    expect(keptIn(source)).not.toEqual([]);
  });
});

describe.each([
  ["as it is built", []],
  ["with traces", [INTERCEPTORS]],
])("the bundle %s", (_, interceptors) => {
  const cache: Record<string, { readonly exports: object }> = {};
  let before: readonly string[] = [];
  let all: readonly string[] = [];
  let traceLines: unknown;

  beforeAll(async () => {
    const { code } = await bundleWorkflows(interceptors);
    all = [...code.matchAll(/^\/\*\*\*\/ "([^"]+)":?/gm)].map((match) => match[1] ?? "");
    const globals = { AbortController, AsyncLocalStorage, TextDecoder, TextEncoder, URL, URLSearchParams };
    const context = createContext({ ...globals, __webpack_module_cache__: cache });
    runInContext(code, context);
    before = Object.keys(cache);
    runInContext("__TEMPORAL__.preloadModules()", context);
    traceLines = runInContext("Error.stackTraceLimit", context);
  });

  test("takes short stack traces: Temporal's SDK takes one for each promise", () => {
    expect(traceLines).toBe(4);
  });

  test("shares core, contract and zod, all that it has of them, and nothing else", () => {
    const shared = Object.keys(cache).filter((id) => !before.includes(id));
    const isPure = (id: string) => OURS.test(id) || id.includes("/node_modules/zod/");
    expect(shared.filter((id) => !isPure(id))).toEqual([
      expect.stringMatching(/\/short-traces\.ts$/),
      expect.stringMatching(/\/shared-modules\.ts$/),
    ]);
    expect(all.filter((id) => OURS.test(id) && !shared.includes(id))).toEqual([]);
    expect(shared.length).toBeGreaterThan(50);
  });

  test("shares nothing that keeps anything", () => {
    const ours = all.flatMap((id) => OURS.exec(id)?.[1] ?? []);
    const kept = ours.map((file) => [file, keptIn(readFileSync(join(SRC, file), "utf8"))] as const);
    expect(kept.filter(([, found]) => found.length > 0)).toEqual([]);
  });

  test("keeps what it shares from being changed, but for schemas, which work themselves out when they are used", () => {
    const exported = Object.entries(cache).flatMap(([id, { exports }]) =>
      OURS.test(id) ? Object.values(exports) : [],
    );
    const kinds = exported.filter((value) => typeof value === "object" && value !== null);
    const [schemas, others] = [true, false].map((are) => kinds.filter((value) => "_zod" in value === are));
    expect(schemas?.filter((schema) => Object.isFrozen(schema))).toEqual([]);
    expect(others?.filter((value) => !isCollection(value) && !Object.isFrozen(value))).toEqual([]);
    expect([schemas?.length, others?.length].every((count) => count !== undefined && count > 5)).toBe(true);
  });
});

function isCollection(value: unknown): boolean {
  return /^\[object (?:Map|Set)\]$/.test(Object.prototype.toString.call(value));
}
