import { z } from "zod";
import type { ToolName } from "../core/tools/tool-specs.js";
import { canonicalToolName } from "../core/tools/tool-specs.js";
import type { JsonObject } from "../core/json.js";

/** The model name in every answer. */
export const REHEARSAL_MODEL = "interlock-rehearsal";

const textPart = z.looseObject({ type: z.string(), text: z.string().optional() });
const messageSchema = z.looseObject({
  role: z.enum(["system", "developer", "user", "assistant", "tool"]),
  content: z.union([z.string(), z.array(textPart), z.null()]).optional(),
  tool_calls: z
    .array(
      z.looseObject({
        id: z.string(),
        function: z.looseObject({ name: z.string(), arguments: z.string() }),
      }),
    )
    .nullish(),
  tool_call_id: z.string().optional(),
});

/** What is read of a chat completion request; everything else in it is accepted and ignored. */
export const chatRequestSchema = z.looseObject({
  model: z.string(),
  messages: z.array(messageSchema).min(1),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }).optional() })).nullish(),
  tool_choice: z.unknown().optional(),
  n: z.literal(1, "Only one choice per request (n = 1).").nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
});

export type ChatRequest = z.infer<typeof chatRequestSchema>;
export type ChatMessage = z.infer<typeof messageSchema>;

/** One answer of the rehearsal: text, and the calls that go with it. No calls: a question or a last word. */
export interface Turn {
  readonly content: string;
  readonly calls: readonly ScriptedCall[];
}

/** A call that the rehearsal makes. */
export interface ScriptedCall {
  /** The tool's name in the spelling that the request offered. */
  readonly name: string;
  readonly arguments: JsonObject;
}

/** The text of a message, whether it came as a string or as parts. */
export function messageText(message: ChatMessage): string {
  const { content } = message;
  if (typeof content === "string") return content;
  return (content ?? []).flatMap((part) => (part.text === undefined ? [] : [part.text])).join("\n");
}

/** The names of the tools that the request offers. */
export function offeredNames({ tools, tool_choice: choice }: ChatRequest): readonly string[] {
  return choice === "none" ? [] : (tools ?? []).flatMap((tool) => tool.function?.name ?? []);
}

/** Which file tools the request offers, each under the name it has there. */
export function offeredTools(request: ChatRequest): ReadonlyMap<ToolName, string> {
  const offered = new Map<ToolName, string>();
  for (const name of offeredNames(request)) {
    const tool = canonicalToolName(name);
    if (tool !== undefined) offered.set(tool, name);
  }
  return offered;
}
