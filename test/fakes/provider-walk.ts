import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "./package-fixture.js";
import type { Asked, Said } from "./providers.js";
import { call, patch } from "./scripted-model.js";

export const REFUSAL = "I cannot help with that.";

const textOf = (content: unknown) => (typeof content === "string" ? content : JSON.stringify(content ?? ""));

/** What a model of the package of two nodes says next, told by the conversation: parallel reads, a question, and in the middle node a refusal. */
export function answerTo({ body }: Asked): Said {
  const texts = body.messages.map(({ content }) => textOf(content));
  const brief = texts.findLast((text) => text.startsWith("NODE_BRIEF")) ?? "";
  const nodeId = /currentNodeId: (\S+)/.exec(brief)?.[1] ?? "";
  const isAnswered = texts.some((text) => text.startsWith("USER_INPUT"));
  const hasRead = body.messages.some(({ role }) => role === "tool");
  if (nodeId === "ask" && !hasRead) {
    return { calls: [call("fs_list", { path: "@pkg" }), call("fs_read", { path: "@pkg/bmad.json" })] };
  }
  if (nodeId === "ask" && !isAnswered) return { text: "Which colour?" };
  if (nodeId === "middle" && !isAnswered) return { refusal: REFUSAL };
  if (nodeId === "middle" && !hasRead) {
    return { calls: [call("fs_write", { path: "@project/artifacts/out.md", content: "blue\n" })] };
  }
  const next = { ask: "middle", middle: "finish" }[nodeId];
  const move = next === undefined ? {} : { currentNodeId: { set: next } };
  return { calls: [patch({ stepsCompleted: { append: [nodeId] }, ...move })] };
}

export async function settingsFile(settings: object): Promise<string> {
  const dir = await temporaryDirectory();
  const path = join(dir, "settings.json");
  await writeFile(path, JSON.stringify(settings));
  return path;
}
