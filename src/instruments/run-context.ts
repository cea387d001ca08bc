import { z } from "zod";

const inputSchema = z.object({
  run: z.object({ runId: z.string() }),
  nodeId: z.string().optional(),
  agentId: z.string().optional(),
  callId: z.string().optional(),
});

/** Whose work an activity does, as far as its input says. */
export type RunContext = z.infer<typeof inputSchema>;

export function runContextOf(args: readonly unknown[]): RunContext | undefined {
  return inputSchema.safeParse(args[0]).data;
}
