// A model for hosts that share nothing with the tests: asks at the first node, then goes the only way there is.
import { createServer } from "node:http";

const [, , host, port] = process.argv;
const NEXT = { ask: "middle", middle: "finish" };

function answerTo({ messages }) {
  const briefs = messages.filter(({ content }) => content?.startsWith("NODE_BRIEF"));
  const nodeId = /currentNodeId: (\S+)/.exec(briefs.at(-1)?.content ?? "")?.[1] ?? "";
  const isAnswered = messages.some(({ content }) => content?.includes("Shelves by color"));
  if (nodeId === "ask" && !isAnswered)
    return { role: "assistant", content: "Which order do the shelves have?\nSay it shortly." };
  const move = NEXT[nodeId] === undefined ? {} : { currentNodeId: { set: NEXT[nodeId] } };
  const patch = { operation: "updateFrontmatter", update: { stepsCompleted: { append: [nodeId] }, ...move } };
  const text = JSON.stringify({ path: "@state/workflow.md", patch });
  const call = {
    id: `call-${messages.length}`,
    type: "function",
    function: { name: "fs_apply_patch", arguments: text },
  };
  return { role: "assistant", content: null, tool_calls: [call] };
}

createServer((request, response) => {
  let text = "";
  request.on("data", (chunk) => (text += chunk));
  request.on("end", () => {
    const message = answerTo(JSON.parse(text));
    const finish_reason = message.tool_calls === undefined ? "stop" : "tool_calls";
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        id: "a",
        object: "chat.completion",
        model: "asking",
        choices: [{ index: 0, message, finish_reason }],
        usage,
      }),
    );
  });
}).listen(Number(port), host, () => console.log("ready"));
