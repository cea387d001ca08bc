import { excerpt, listSome } from "../text.js";
import { slugOf } from "./package-id.js";
import { isId } from "./schemas.js";

/** What somebody wants to begin with. */
export interface WantedPackage {
  readonly name: string;
  /** Ids of steps, in their order. */
  readonly steps: readonly string[];
  /** Ids of the steps that a decision chooses between: none, or two and more. */
  readonly branch: readonly string[];
  /** A QA gate before the end. */
  readonly gate: boolean;
  /** Ids of agents. The last one decides and ends, the others take the steps in turn. */
  readonly agents: readonly string[];
}

/** Nodes that a package has by itself. */
export const CHOICE = "choose";
export const GATE = "gate";
export const MEND = "mend";
export const END = "done";
/** What all ways of a branch write. */
export const RESULT = "result";

const MAX_PACKAGE_NAME_CHARS = 80;
const MAX_ID_CHARS = 60;
const MAX_IDS = 50;
/** Names that stand for devices on Windows, whatever follows them. */
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)$/i;

/** Why no package can be made so; undefined when it can. Names the option, and says what to give instead. */
export function wantedProblem(wanted: WantedPackage): string | undefined {
  const { name, steps, branch, agents } = wanted;
  if (branch.length === 1) return "--branch names one: a branch needs two ways or more, or leave it out.";
  return (
    nameProblem(name) ??
    idProblem("--steps", steps, true) ??
    (branch.length === 0 ? undefined : idProblem("--branch", branch, true)) ??
    idProblem("--agents", agents, false) ??
    takenProblem(wanted)
  );
}

/** Why a package cannot be called so. */
export function nameProblem(name: string): string | undefined {
  if (isName(name)) return undefined;
  const rule = `letters a to z, digits and - _ . after a letter or digit, at most ${MAX_PACKAGE_NAME_CHARS}`;
  return `--name: "${excerpt(name)}" is no name for a package. Give one of ${rule}, such as --name ${nameLike(name)}.`;
}

/** The name itself where a package can have it, else one that is like it. */
export function nameLike(name: string): string {
  return isName(name) ? name : slugOf(name) || "my-package";
}

function isName(name: string): boolean {
  return /^[A-Za-z0-9][\w.-]*$/.test(name) && name.length <= MAX_PACKAGE_NAME_CHARS;
}

/** What an option names: `gather, draft`, or with one number alone as many ids of the kind, `step-1`, `step-2`. */
export function idsFrom(list: string, kind: "step" | "way" | "agent"): readonly string[] {
  const ids = list.split(/[,\s]+/).filter((id) => id !== "");
  const [only = ""] = ids;
  if (ids.length !== 1 || !/^\d+$/.test(only)) return ids;
  return Array.from({ length: Math.min(Number(only), MAX_IDS + 1) }, (_, index) => `${kind}-${index + 1}`);
}

function idProblem(option: string, ids: readonly string[], areFiles: boolean): string | undefined {
  if (ids.length === 0) return `${option} names none: name at least one, or say how many.`;
  if (ids.length > MAX_IDS) return `${option} names more than ${MAX_IDS}: begin with fewer.`;
  const wrong = ids.filter((id) => !/^[\w-]+$/.test(id) || !isId(id) || id.length > MAX_ID_CHARS);
  if (wrong.length > 0) {
    return `${option}: ${quoted(wrong)} is no id. Use letters a to z, digits, - and _, at most ${MAX_ID_CHARS}, a letter or digit first.`;
  }
  const numbers = ids.filter((id) => /^\d+$/.test(id));
  if (numbers.length > 0) {
    return `${option}: ${quoted(numbers)} is no id. Begin with a letter; one number alone says how many there are to be.`;
  }
  const devices = areFiles ? ids.filter((id) => WINDOWS_DEVICE.test(id)) : [];
  if (devices.length > 0)
    return `${option}: ${quoted(devices)} cannot be a file on Windows: choose another name.`;
  const twice = ids.filter((id, index) => ids.findIndex((other) => isSame(other, id)) !== index);
  return twice.length === 0
    ? undefined
    : `${option} names ${listSome(twice)} twice: ids that differ by case alone are one.`;
}

/** Steps and ways share their names with each other and with what the package has by itself. */
function takenProblem({ steps, branch, gate }: WantedPackage): string | undefined {
  const ours = [...(branch.length > 0 ? [CHOICE, RESULT] : []), ...(gate ? [GATE, MEND] : []), END];
  for (const [option, ids] of [["--steps", steps] as const, ["--branch", branch] as const]) {
    const taken = ids.filter((id) => ours.some((other) => isSame(other, id)));
    if (taken.length > 0)
      return `${option}: ${listSome(taken)} is what the package makes by itself: choose another name.`;
  }
  const both = branch.filter((id) => steps.some((other) => isSame(other, id)));
  if (both.length === 0) return undefined;
  return `--branch names ${listSome(both)}, which --steps names as well: choose another name.`;
}

/** Each becomes the name of a file, on every system. */
function isSame(id: string, other: string): boolean {
  return id.toLowerCase() === other.toLowerCase();
}

function quoted(ids: readonly string[]): string {
  return listSome(ids.map((id) => `"${id}"`));
}
