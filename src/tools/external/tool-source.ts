import type { JsonObject } from "../../core/json.js";
import type { ExternalToolSpec } from "../../core/tools/external-tool.js";

/** Whose tools are asked for. */
export interface ToolPlace {
  readonly agentId: string;
  /** The servers that the agent's policy allows, by the operator's names for them. */
  readonly allowedServers: readonly string[];
  /** The real path of the run's project. */
  readonly projectRoot: string;
}

/** What one call is told besides its arguments. */
export interface ToolCallScope {
  readonly runId: string;
  readonly nodeId: string;
  readonly agentId: string;
  /** The same for each attempt at one call. */
  readonly callId: string;
  /** The real path of the run's project. */
  readonly projectRoot: string;
  /** Fires when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** What a tool has said: a text for the model. */
export interface ToolAnswer {
  readonly content: string;
  /** The tool says that it has failed. */
  readonly isError?: boolean;
}

/** A tool that is not the engine's own. */
export interface ExternalTool extends ExternalToolSpec {
  /** What names begin with of tools that work on the same thing: with those that change nothing a model looks what has come of a call. */
  readonly family: string;
  /**
   * Throws `NotReached` where nothing has happened, `Interrupted` where nobody knows what has; anything else is a failure that
   * the tool tells of, its message is for the model.
   */
  run(args: JsonObject, scope: ToolCallScope): Promise<ToolAnswer>;
}

/** Where external tools come from. */
export interface ToolSource {
  /**
   * The tools as they are now; where one is named, that one's family may be all. Throws `NotReached` where that cannot be known.
   */
  tools(place: ToolPlace, name?: string): Promise<readonly ExternalTool[]>;
  close(): Promise<void>;
}

/** The tool was not reached: it has done nothing. */
export class NotReached extends Error {}

/** The same, and by now there may be a new way to it. */
export class Reopenable extends NotReached {}

/** The tool was reached, and its answer was not. */
export class Interrupted extends Error {}

/** Arguments that the tool does not take; it has done nothing. */
export class WrongArguments extends Error {}
