import {
  type ChatRequestBody,
  type ScriptedAnswer,
  type ScriptedCall,
  call,
  patch,
} from "./scripted-model.js";

/** A step of the run, recorded and left behind. */
export const step = (from: string, to: string): ScriptedCall =>
  patch({ stepsCompleted: { append: [from] }, currentNodeId: { set: to } });

/** The shortest way through the two-node package. */
export const STRAIGHT: readonly ScriptedAnswer[] = [
  { calls: [step("ask", "middle")] },
  { calls: [step("middle", "finish")] },
  { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
];

/** What that way takes where a request stands now. */
export function straightOn(request: ChatRequestBody): ScriptedAnswer {
  const nodeId = nodeOf(request);
  const next = { ask: "middle", middle: "finish" }[nodeId];
  return {
    calls: [next === undefined ? patch({ stepsCompleted: { append: [nodeId] } }) : step(nodeId, next)],
  };
}

/** Round and round in the circle's package: `ask`, `middle`, `ask` … */
export const roundAndRound = (request: ChatRequestBody): ScriptedAnswer => ({
  calls: [nodeOf(request) === "ask" ? step("ask", "middle") : step("middle", "ask")],
});

/** The shortest way, after so many reads at each node, or at one. */
export const readsFirst =
  (reads: number, at?: string) =>
  (request: ChatRequestBody): ScriptedAnswer => {
    const results = request.messages.filter(({ role }) => role === "tool").length;
    if (results === reads || (at !== undefined && nodeOf(request) !== at)) return straightOn(request);
    return { calls: [call("fs_read", { path: "@pkg/steps/ask.md", startLine: results + 1 })] };
  };

/** The node that a request is about. */
export function nodeOf(request: ChatRequestBody): string {
  const brief = request.messages.findLast(({ content }) => content?.startsWith("NODE_BRIEF"))?.content ?? "";
  return /currentNodeId: (\S+)/.exec(brief)?.[1] ?? "";
}

/** What the user said, as a request tells it. */
export function wordsIn(request: ChatRequestBody | undefined): readonly string[] {
  return (request?.messages ?? []).flatMap(({ role, content }) =>
    role === "user" && content?.startsWith("USER_INPUT") === true
      ? [content.split("\n").slice(2).join("\n")]
      : [],
  );
}

export function intentOf(request: ChatRequestBody | undefined): string | undefined {
  const directive = request?.messages.findLast(({ content }) => content?.startsWith("RUN_DIRECTIVE"));
  return /intent: (\w+)/.exec(directive?.content ?? "")?.[1];
}

/** Asks until it is answered, then walks. */
export const asksFirst = (request: ChatRequestBody): ScriptedAnswer => {
  const isBegun = intentOf(request) === "continue";
  if (!isBegun && !wordsIn(request).includes("The customer's.")) return { content: "Whose story?" };
  return straightOn(request);
};
