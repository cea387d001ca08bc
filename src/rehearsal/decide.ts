import { readBundleSituation } from "./bundle-situation.js";
import { decideBundle } from "./decide-bundle.js";
import { type Graph, readGraph } from "./edges.js";
import { tryForbiddenJump } from "./forbidden-jump.js";
import type { Memory } from "./memory.js";
import { planOutputs } from "./outputs.js";
import { saveState } from "./save-state.js";
import { readShells } from "./shells.js";
import {
  type Decision,
  type Situation,
  ask,
  call,
  codeOf,
  describeRefusal,
  isOpenFailure,
  say,
} from "./situation.js";
import { readState } from "./state-document.js";
import { readStep } from "./step-declaration.js";
import { lastCall, readVisit, textOf } from "./visit.js";
import type { ChatRequest } from "./wire.js";
import { offeredTools } from "./wire.js";
import { areConditionsBinding } from "./ways.js";
import { lookAround, outputNotes, writeOutputs } from "./write-outputs.js";

/**
 * What the rehearsal answers to a request: the whole of its judgement, as a pure function.
 *
 * R1  It knows the request and its memory, nothing else: no file, no clock, no chance.
 * R2  A repeated request gets the same answer again, so that a caller that retries does no harm.
 * R3  Per node: read the step, the state and what is there; write the outputs; save the state; move on.
 * R4  The brief says which edges there are, and a refusal says it anew. Nothing in a package overrules them.
 * R5  A refused call is corrected at most twice per node, then the user is asked. No answer repeats for ever.
 * R6  Every text begins with [rehearsal]. A file that no rehearsal wrote is not written over.
 */
export function decide(request: ChatRequest, memory: Memory): Decision {
  const bundle = readBundleSituation(request);
  if (bundle !== undefined) return decideBundle(bundle, memory);
  const shells = readShells(request.messages);
  if (shells === undefined) {
    return say(
      memory,
      "There is no NODE_BRIEF in this request. I am no model: I only walk the nodes of a workflow package.",
    );
  }
  const situation = { shells, visit: readVisit(shells), tools: offeredTools(request), memory };
  const stopped = cannotWork(situation) ?? readFirst(situation);
  if (stopped !== undefined) return stopped;

  const { brief, directive } = shells;
  const step = readStep(textOf(lastCall(situation.visit, "fs.read", brief.stepFile))?.text ?? "");
  const plan = planOutputs(brief.outputs, step.outputs);
  const inquiry = lookAround(situation, step, plan) ?? writeOutputs(situation, step, plan);
  if (inquiry !== undefined) return inquiry;

  const state = readState(textOf(lastCall(situation.visit, "fs.read", directive.statePath))?.text ?? "");
  const material = { step, state, graph: graphOf(situation), notes: outputNotes(situation, plan) };
  return tryForbiddenJump(situation, material) ?? saveState(situation, material);
}

/** Without a tool to read and one to save, no node can be finished: that is for the user to hear. */
function cannotWork(situation: Situation): Decision | undefined {
  const missing = (["fs.read", "fs.apply_patch"] as const).filter((tool) => !situation.tools.has(tool));
  if (missing.length > 0) {
    return ask(
      situation,
      `this agent does not offer me ${missing.join(" and ")}, and without it I can neither follow the step nor save the state.`,
      "I look again whether the tools are there",
    );
  }
  const refused = situation.visit.exchanges.findLast(
    (exchange) => codeOf(exchange) === "TOOL_NOT_AVAILABLE" && isOpenFailure(situation.visit, exchange),
  );
  return refused === undefined
    ? undefined
    : ask(situation, describeRefusal(refused), "I try the same call again");
}

/** The first answer reads what the node needs, in one go: step, state, and what else is cheap to know now. */
function readFirst(situation: Situation): Decision | undefined {
  const { brief, directive } = situation.shells;
  const { visit } = situation;
  const needed = [brief.stepFile, directive.statePath];
  for (const path of needed) {
    const read = lastCall(visit, "fs.read", path);
    if (isOpenFailure(visit, read)) return ask(situation, describeRefusal(read), "I try to read it again");
  }
  const unread = needed.filter((path) => textOf(lastCall(visit, "fs.read", path)) === undefined);
  if (unread.length === 0) return undefined;
  const wantsGraph = situation.memory.jump.kind === "due" || areConditionsBinding(situation);
  const graph = wantsGraph ? directive.graphPath : undefined;
  const list = brief.outputs.length > 0 ? directive.artifactsRoot : undefined;
  return say(
    situation.memory,
    `Node ${brief.nodeId}: first I read the step and the state document. No model is at work here.`,
    [
      ...unread.flatMap((path) => call(situation, "fs.read", { path })),
      ...(list === undefined ? [] : call(situation, "fs.list", { path: list })),
      ...(graph === undefined ? [] : call(situation, "fs.read", { path: graph })),
    ],
  );
}

function graphOf(situation: Situation): Graph | undefined {
  const { graphPath } = situation.shells.directive;
  const read = graphPath === undefined ? undefined : lastCall(situation.visit, "fs.read", graphPath);
  const text = textOf(read);
  return text?.whole === true ? readGraph(text.text) : undefined;
}
