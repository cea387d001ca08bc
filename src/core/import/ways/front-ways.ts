import { type JsonObject, type JsonValue, isList, isObject } from "../../json.js";
import { isNextKey } from "../source/step-files.js";

/** A way that a step's front matter says. */
export interface FrontWay {
  readonly key: string;
  /** What it names: a file, a step, the end. */
  readonly value: string;
  /** When it is taken: `rejected`, `on failure`; absent where it says nothing of it. */
  readonly when?: string;
  /** The key is one that always names a step: what it names and is not there wants a look. */
  readonly isNext: boolean;
}

/** `on_failure`, `onRejectStep`, `error_step`: when, and by `transitions`, `branches` and `routes` as what stands below them says. */
const CASE_KEY =
  /^(?:on(?<on>fail|failure|failed|error|errors|success|pass|passed|complete|completed|completion|reject|rejected|rejection|approve|approved|approval|yes|no|cancel|cancelled|abort|timeout|retry)(?:step|file|goto|next|target)*|(?<of>error|failure|fail|success|reject|rejection|fallback|retry)(?:step|file)+)$/;
const WAYS_KEY = /^(?:transitions?|branch(?:es)?|routes?|routing|goto)$/;
const TARGETS = [
  "goto",
  "to",
  "target",
  "nextstepfile",
  "nextstep",
  "next",
  "step",
  "file",
  "stepfile",
  "path",
  "then",
  "go",
  "id",
];
const CASES = [
  "when",
  "if",
  "on",
  "condition",
  "case",
  "event",
  "result",
  "outcome",
  "answer",
  "choice",
  "status",
  "label",
  "name",
];
const OTHERWISE = /^(?:else|otherwise|default)$/;
const NAMES_FILE = /\.md$|^(?:\.\/)?step[-_ ]?\d/i;
/** What names no step: the end of the workflow, or the run's own way with failures. */
const END =
  /^(?:end|exit|finish(?:ed)?|terminate|stop|abort|__end__|end[-_ ]?(?:of[-_ ]?)?workflow|workflow[-_ ]?(?:end|complete))$/i;
const MAX_DEPTH = 4;
const MAX_WHEN = 200;

/** Whether a way leads to no step, but out of the workflow. */
export function isEndValue(value: string): boolean {
  return END.test(value.trim());
}

/** What such a way is called, and when it is taken. */
export function edgeOf({ key, when }: FrontWay): {
  readonly label: string;
  readonly condition?: string;
  readonly isDefault: boolean;
} {
  if (when !== undefined) return { label: when, condition: when, isDefault: false };
  const isPlain = /^next[-_]?(?:step)?[-_]?(?:file)?$/i.test(key);
  const label = isPlain ? "next" : key.replace(/^next[-_]?(?:Step)?[-_]?(?:File)?[-_]?/i, "") || "next";
  return { label, isDefault: isPlain };
}

/** The ways that a front matter says, in its order. */
export function waysInFront(frontmatter: JsonObject): readonly FrontWay[] {
  const ways: FrontWay[] = [];
  for (const [key, value] of Object.entries(frontmatter)) look(key, value, ways, 0);
  return ways;
}

function look(key: string, value: JsonValue, ways: FrontWay[], depth: number): void {
  if (depth > MAX_DEPTH || value === null) return;
  const wanted = isNextKey(key) || isCaseKey(key);
  if (!wanted && isObject(value)) {
    for (const [inner, item] of Object.entries(value)) look(inner, item, ways, depth + 1);
  } else if (!wanted && isList(value)) for (const item of value) look(key, item, ways, depth + 1);
  else if (wanted) take(key, value, caseOf(key), ways, depth);
}

function take(
  key: string,
  value: JsonValue,
  when: string | undefined,
  ways: FrontWay[],
  depth: number,
): void {
  if (depth > MAX_DEPTH || value === null || typeof value === "boolean") return;
  if (isList(value)) for (const item of value) take(key, item, when, ways, depth + 1);
  else if (!isObject(value)) {
    if (!mayNameStep(key, value, when)) return;
    const shown = when?.replaceAll(/\s+/g, " ").trim().slice(0, MAX_WHEN);
    const isSaid = shown !== undefined && shown !== "";
    ways.push({ key, value: String(value), isNext: isNextKey(key), ...(isSaid ? { when: shown } : {}) });
  } else {
    const target = textAt(value, TARGETS);
    if (target !== undefined)
      take(key, target, textAt(value, CASES) ?? elseOf(value) ?? when, ways, depth + 1);
    else
      for (const [name, item] of Object.entries(value))
        take(key, item, OTHERWISE.test(plain(name)) ? "otherwise" : wordsOf(name), ways, depth + 1);
  }
}

/** Of `on_retry: 3` and `branch: main` it is something else: a number counts, and without a case it may be called as a step is by its title. */
function mayNameStep(key: string, value: string | number, when: string | undefined): boolean {
  if (isNextKey(key)) return true;
  if (typeof value === "number") return /step/i.test(key);
  return when !== undefined || plain(key) === "goto" || NAMES_FILE.test(value);
}

/** `{ else: true, goto: … }` */
function elseOf(value: JsonObject): string | undefined {
  return Object.entries(value).some(([name, item]) => OTHERWISE.test(plain(name)) && item === true)
    ? "otherwise"
    : undefined;
}

function textAt(value: JsonObject, names: readonly string[]): string | undefined {
  for (const wanted of names) {
    const found = Object.entries(value).find(([name]) => plain(name) === wanted)?.[1];
    if (typeof found === "string" || typeof found === "number") return String(found);
  }
  return undefined;
}

function isCaseKey(key: string): boolean {
  return CASE_KEY.test(plain(key)) || WAYS_KEY.test(plain(key));
}

function caseOf(key: string): string | undefined {
  const { on, of } = CASE_KEY.exec(plain(key))?.groups ?? {};
  const name = on ?? of;
  return name === undefined ? undefined : `on ${name}`;
}

function plain(key: string): string {
  return key.replaceAll(/[-_\s]/g, "").toLowerCase();
}

function wordsOf(name: string): string {
  return name.replaceAll(/[-_]/g, " ");
}
