import { canonicalJson } from "../../core/canonical-json.js";
import type { JsonObject } from "../../core/json.js";
import type { PackageTest, ToolAnswer } from "../../core/package/package-test.js";
import type { Agent } from "../../core/package/schemas.js";
import { cutText } from "../../core/text.js";
import { WrongArguments } from "../../tools/external/tool-source.js";
import type { WorkerOptions } from "../../worker.js";
import type { RunOutcome } from "../report/run-outcome.js";

type Tool = NonNullable<WorkerOptions["tools"]>[number];

/** Tools that answer what a test says, in the place of MCP servers and of tools in code. */
export interface ScriptedTools {
  readonly tools: readonly Tool[];
  /** The calls that the test has no answer for, each in a sentence; a test that says which calls are refused has said it of those. */
  readonly unknown: (
    outcome: Pick<RunOutcome, "refusals">,
    expected: PackageTest["expect"],
  ) => readonly string[];
}

const TIMEOUT_MS = 60_000;
const MAX_SHOWN_CHARS = 200;

/** An agent has the tools of a server where its policy names the server, as in any run. */
export function scriptedTools(script: PackageTest["tools"], agents: readonly Agent[]): ScriptedTools {
  const scripted = new Map(Object.entries(script ?? {}));
  const unanswered: string[] = [];
  const toolOf = (name: string, answers: readonly ToolAnswer[]): Tool => {
    const given = new Set<ToolAnswer>();
    return {
      name,
      family: name.slice(0, name.lastIndexOf(".") + 1),
      description: "Answers as a test of this package says.",
      parameters: { type: "object" },
      effect: "idempotent", // one call after the other: the answers have an order
      timeoutMs: TIMEOUT_MS,
      agents: agentsWith(name, agents),
      async run(args) {
        const fitting = answers.filter((each) => fits(each.arguments, args));
        // The last one that fits answers every further call.
        const answer = fitting.find((each) => !given.has(each)) ?? fitting.at(-1);
        if (answer === undefined) {
          unanswered.push(
            `tools: ${name} was called with ${cutText(canonicalJson(args), MAX_SHOWN_CHARS)}, and no answer under tools fits: add one`,
          );
          throw new Error("The test has no answer for this call.");
        }
        given.add(answer);
        const { result = null, error, wrongArguments } = answer;
        if (wrongArguments !== undefined) throw new WrongArguments(wrongArguments);
        if (error !== undefined) return { content: error, isError: true };
        return { content: typeof result === "string" ? result : JSON.stringify(result) };
      },
    };
  };
  return {
    tools: [...scripted].map(([name, answers]) => toolOf(name, answers)),
    unknown({ refusals }, expected) {
      const unexpected = expected.refusals === undefined ? refusals : [];
      const notOffered = unexpected.flatMap(({ code, tool, nodeId }) => {
        if (code !== "TOOL_NOT_AVAILABLE" || serverOf(tool) === undefined) return [];
        const why = scripted.has(tool)
          ? `the agent there may not use the server: name "${serverOf(tool)}" in its tools.mcp.allowedServers`
          : "the test has no answers of it: add them under tools";
        return [`tools: ${tool} was called at ${nodeId}, and ${why}`];
      });
      return [...new Set([...unanswered, ...notOffered])];
    },
  };
}

/** `tickets` of `mcp.tickets.find`; undefined for a tool that no server has. */
function serverOf(tool: string): string | undefined {
  return /^mcp\.([^.]+)\./.exec(tool)?.[1];
}

/** A tool that no server has is every agent's. */
function agentsWith(tool: string, agents: readonly Agent[]): readonly string[] {
  const server = serverOf(tool);
  return agents
    .filter(({ tools: { mcp } = {} }) => {
      return server === undefined || (mcp?.enabled === true && mcp.allowedServers?.includes(server) === true);
    })
    .map(({ id }) => id);
}

/** What is said of arguments has to be so; others may be there. */
function fits(wanted: JsonObject | undefined, given: JsonObject): boolean {
  return Object.entries(wanted ?? {}).every(
    ([name, value]) => Object.hasOwn(given, name) && canonicalJson(given[name]) === canonicalJson(value),
  );
}
