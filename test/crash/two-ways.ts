import type { ChatRequestBody, ScriptedAnswer, ScriptedCall } from "../fakes/scripted-model.js";
import { call, patch } from "../fakes/scripted-model.js";
import { turnOf } from "./crash-script.js";

/** What the model does: one thing before the run's execution is over, another one when the run goes on. */
export type Way = "first" | "second";

/** Each way writes a file of its own and one that both write, and sets a variable to its name. */
function turnsOf(way: Way): Readonly<Record<string, readonly (readonly ScriptedCall[])[]>> {
  const write = (name: string) =>
    call("fs_write", { path: `@project/artifacts/${name}.md`, content: `${way}\n` });
  return {
    ask: [
      [write("both")],
      [write(way)],
      [patch({ variables: { set: { way } } })],
      [patch({ stepsCompleted: { append: ["ask"] }, currentNodeId: { set: "middle" } })],
    ],
    middle: [[patch({ stepsCompleted: { append: ["middle"] }, currentNodeId: { set: "finish" } })]],
    finish: [[patch({ stepsCompleted: { append: ["finish"] } })]],
  };
}

/** The same answer, with the same call ids, whenever the same turn is asked for on the same way. */
export function answerOn(way: Way, request: ChatRequestBody): ScriptedAnswer {
  const [nodeId = "", number = ""] = turnOf(request).split(" ");
  const calls = turnsOf(way)[nodeId]?.[Number(number) - 1];
  if (calls === undefined) return { status: 418 };
  return { calls: calls.map((item, index) => ({ ...item, id: `${way}-${nodeId}-${number}-${index}` })) };
}
