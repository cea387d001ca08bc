import { type OutputPlan, type OutputTarget, inputPaths } from "./outputs.js";
import { type PlaceholderFacts, isRehearsalText, placeholder, shortPlaceholder } from "./placeholder.js";
import {
  type Decision,
  type Situation,
  ask,
  call,
  codeOf,
  correctionsUsedUp,
  describeRefusal,
  isOpenFailure,
  say,
} from "./situation.js";
import { type StepDeclaration, oneLine } from "./step-declaration.js";
import { type Exchange, type Visit, lastCall, textOf } from "./visit.js";
import type { ScriptedCall } from "./wire.js";

const MAX_CALLS_PER_ANSWER = 8;
const MAX_INPUTS = 8;

/** Reads the declared inputs, and the outputs that may be there already: what is missing is no failure. */
export function lookAround(
  situation: Situation,
  step: StepDeclaration,
  plan: OutputPlan,
): Decision | undefined {
  const { visit } = situation;
  const outputs = plan.targets
    .map((target) => target.path)
    .filter((path) => mayExist(situation, path) && lastCall(visit, "fs.write", path) === undefined);
  const unseen = [...new Set([...inputsOf(situation, step), ...outputs])].filter(
    (path) => lastCall(visit, "fs.read", path) === undefined,
  );
  if (unseen.length === 0) return undefined;
  return say(
    situation.memory,
    "I look at what the step builds on, and at outputs that may be there already.",
    unseen.slice(0, MAX_CALLS_PER_ANSWER).flatMap((path) => call(situation, "fs.read", { path })),
  );
}

function inputsOf(situation: Situation, step: StepDeclaration): string[] {
  const { brief, directive } = situation.shells;
  return inputPaths(step.inputs, [brief.stepFile, directive.statePath]).slice(0, MAX_INPUTS);
}

/** False only when the listing of the artifacts root shows that nothing of this name is there. */
function mayExist(situation: Situation, path: string): boolean {
  const root = situation.shells.directive.artifactsRoot ?? "";
  const listing = lastCall(situation.visit, "fs.list", root);
  const prefix = root.endsWith("/") ? root : `${root}/`;
  if (listing?.outcome.ok !== true || !path.startsWith(prefix)) return true;
  const entries: unknown = listing.outcome.value.get("entries");
  const [first = ""] = path.slice(prefix.length).split("/");
  // Hidden entries are not listed.
  if (!Array.isArray(entries) || first.startsWith(".")) return true;
  return entries.includes(first) || entries.includes(`${first}/`);
}

/** Writes what is still to be written; a refusal is corrected, or told to the user. */
export function writeOutputs(
  situation: Situation,
  step: StepDeclaration,
  plan: OutputPlan,
): Decision | undefined {
  const { visit } = situation;
  const pending = plan.targets.filter((target) => !isSettled(visit, target));
  const stuck = pending.flatMap((target) => {
    const last = lastCall(visit, "fs.write", target.path);
    return isOpenFailure(visit, last) && (correctionsUsedUp(visit) || !isCorrectable(last, target))
      ? [last]
      : [];
  });
  const [first] = stuck;
  if (first !== undefined && !visit.answered) {
    return ask(situation, describeRefusal(first), "I go on without this file");
  }
  const stuckPaths = new Set(stuck.map((exchange) => exchange.path));
  const facts = factsOf(situation, step);
  const writes = pending
    .filter((target) => !stuckPaths.has(target.path))
    .map((target) => nextCall(situation, target, facts));
  if (writes.length === 0) return undefined;
  const calls = writes.slice(0, MAX_CALLS_PER_ANSWER).flat();
  return calls.length === 0 ? undefined : say(situation.memory, announce(visit, calls), calls);
}

function isSettled(visit: Visit, target: OutputTarget): boolean {
  const last = lastCall(visit, "fs.write", target.path);
  if (last !== undefined) return last.outcome.ok || !isOpenFailure(visit, last);
  return isSomeoneElses(lastCall(visit, "fs.read", target.path));
}

/** A file that is there and that no rehearsal wrote stays as it is: rehearsing must not cost anyone a result. */
function isSomeoneElses(read: Exchange | undefined): boolean {
  if (read === undefined) return false;
  const text = textOf(read);
  if (text !== undefined) return text.text !== "" && !isRehearsalText(text.text);
  // What cannot be read for another reason than its absence or the sandbox is there, and is not ours.
  return !["ENOENT", "E_SANDBOX_VIOLATION"].includes(codeOf(read) ?? "");
}

function isCorrectable(failure: Exchange, target: OutputTarget): boolean {
  const code = codeOf(failure);
  if (code === "E_WRITE_LIMIT") return failure.arguments.get("content") !== shortPlaceholder(target);
  return code === "E_PRECONDITION_FAILED" || code === "E_INTERNAL";
}

/** The call that brings an output forward: a write, or the look that a failed precondition asks for. */
function nextCall(situation: Situation, target: OutputTarget, facts: PlaceholderFacts): ScriptedCall[] {
  const { visit } = situation;
  const { path } = target;
  const last = lastCall(visit, "fs.write", path);
  const read = lastCall(visit, "fs.read", path);
  if (codeOf(last) === "E_PRECONDITION_FAILED" && (read?.index ?? -1) < (last?.index ?? 0)) {
    return call(situation, "fs.read", { path });
  }
  const short = visit.exchanges.some(
    (exchange) => exchange.path === path && codeOf(exchange) === "E_WRITE_LIMIT",
  );
  const content = short ? shortPlaceholder(target) : placeholder(target, facts);
  const sha256 = read?.outcome.ok === true ? read.outcome.value.get("sha256") : undefined;
  return call(situation, "fs.write", {
    path,
    content,
    ...(typeof sha256 === "string" ? { ifMatchSha256: sha256 } : {}),
  });
}

function factsOf(situation: Situation, step: StepDeclaration): PlaceholderFacts {
  const { brief, directive } = situation.shells;
  return {
    nodeId: brief.nodeId,
    workflow: directive.workflow,
    step,
    inputs: inputsOf(situation, step).map((path) => `${path}: ${fateOf(situation.visit, path)}`),
    said: situation.visit.said,
  };
}

function fateOf(visit: Visit, path: string): string {
  const read = lastCall(visit, "fs.read", path);
  if (read?.outcome.ok !== true) return codeOf(read) ?? "not read";
  const bytes = read.outcome.value.get("bytes");
  return typeof bytes === "number" ? `read, ${bytes} bytes` : "read";
}

function announce(visit: Visit, calls: readonly ScriptedCall[]): string {
  const failed = visit.exchanges.findLast(
    (exchange) => exchange.tool === "fs.write" && isOpenFailure(visit, exchange),
  );
  if (failed !== undefined) return `${describeRefusal(failed)} I correct that and try again.`;
  return calls.length === 1
    ? "I write a placeholder that says at its top what it is."
    : `I write ${calls.length} placeholders that say at their top what they are.`;
}

/** What the user should hear about outputs that this node leaves unwritten, and why. */
export function outputNotes(situation: Situation, plan: OutputPlan): string {
  const { visit } = situation;
  const missing = plan.targets.filter(
    (target) => lastCall(visit, "fs.write", target.path)?.outcome.ok !== true,
  );
  const kept = missing.filter((target) => isSomeoneElses(lastCall(visit, "fs.read", target.path)));
  const failed = missing.filter((target) => !kept.includes(target));
  const notes = [
    ["Left as it is, since no rehearsal wrote it", kept.map((target) => target.path)],
    ["Not written", failed.map((target) => target.path)],
    ["Declared as output, but no path to write to", plan.leftOut.map((output) => oneLine(output, 100))],
  ] as const;
  return notes
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => `${what}: ${names.slice(0, MAX_CALLS_PER_ANSWER).join(", ")}.`)
    .join(" ");
}
