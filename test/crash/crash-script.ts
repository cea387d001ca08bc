import type { ChatRequestBody, ScriptedAnswer, ScriptedCall } from "../fakes/scripted-model.js";
import { call, patch } from "../fakes/scripted-model.js";

const LONG_DECISION = { from: "ask", to: "middle", label: "onwards", reason: "because ".repeat(640) };

/** A node's turns: what the model answers to the first request of a visit, the second … */
const TURNS: Readonly<Record<string, readonly ScriptedAnswer[]>> = {
  ask: [
    {
      calls: [
        call("fs_read", { path: "@pkg/steps/ask.md" }),
        call("fs_list", { path: "@project" }),
        call("fs_search", { path: "@pkg", pattern: "Do" }),
        call("fs_write", { path: "@project/artifacts/out.md", content: "one\n" }),
      ],
    },
    {
      calls: [
        call("fs_write", { path: "@project/artifacts/out.md", content: "two\n" }),
        call("fs_read", { path: "@project/artifacts/out.md" }),
      ],
    },
    { content: "Which colour?" },
    {
      calls: [
        patch({ stepsCompleted: { append: ["ask"] }, currentNodeId: { set: "finish" } }), // no such edge
        patch({
          stepsCompleted: { append: ["ask"] },
          variables: { set: { colour: "blue" } },
          // More than a document keeps: the older of them are moved to a file when the visit ends.
          decisionLog: {
            append: [LONG_DECISION, LONG_DECISION, { from: "ask", to: "middle", label: "onwards" }],
          },
          currentNodeId: { set: "middle" },
        }),
      ],
    },
  ],
  middle: [
    {
      calls: [
        call("fs_write", { path: "@project/artifacts/deep/second.md", content: "blue\n" }),
        patch({
          stepsCompleted: { append: ["middle"] },
          decisionLog: { append: [{ from: "middle", to: "finish", label: "done" }] },
          currentNodeId: { set: "finish" },
        }),
      ],
    },
  ],
  finish: [
    {
      calls: [
        call("fs_write", { path: "@state/notes.md", content: "done\n" }),
        patch({ stepsCompleted: { append: ["finish"] } }),
      ],
    },
  ],
};

/** Which turn of which node a request is for, by what it holds: `ask 2`. */
export function turnOf({ messages }: ChatRequestBody): string {
  const brief = messages.find(({ content }) => content?.startsWith("NODE_BRIEF")) ?? { content: "" };
  const nodeId = /currentNodeId: (\S+)/.exec(brief.content ?? "")?.[1] ?? "";
  return `${nodeId} ${1 + messages.filter(({ role }) => role === "assistant").length}`;
}

/** The same answer, with the same call ids, whenever the same turn is asked for. */
export function answerTo(request: ChatRequestBody): ScriptedAnswer {
  const turn = turnOf(request);
  const [nodeId = "", number = ""] = turn.split(" ");
  const answer = TURNS[nodeId]?.[Number(number) - 1];
  if (answer === undefined) return { status: 418 };
  if (!("calls" in answer)) return answer;
  const withId = (item: ScriptedCall, index: number) => ({ ...item, id: `${nodeId}-${number}-${index}` });
  return { ...answer, calls: answer.calls.map(withId) };
}
