import type { ModelCall } from "../../core/tools/model-call.js";
import { sayingOnce } from "../../core/saying-once.js";
import { withOwnNames } from "../../core/tools/argument-names.js";
import {
  type ExternalToolSpec,
  MAX_DEFINITION_BYTES,
  MAX_EXTERNAL_TOOLS,
  type OfferedTool,
  checkExternalTool,
  externalFunctionTool,
  wireNames,
} from "../../core/tools/external-tool.js";
import type { FunctionTool } from "../../core/tools/tool-arguments.js";
import { listSome } from "../../core/text.js";
import { canonicalToolName } from "../../core/tools/tool-specs.js";
import { sha256 } from "../../store/disk/sha256.js";
import type { ExternalTool, ToolPlace, ToolSource } from "./tool-source.js";
import { jsonBytes } from "../../core/json.js";

/** The external tools of one model turn: what the model is shown, and what its calls are for. */
export interface Offer {
  readonly functions: readonly FunctionTool[];
  /** The tool that a call is for, by either spelling of its name; models write `_` for `-` as well, where that is of one tool alone. */
  offeredFor(call: Pick<ModelCall, "name">): OfferedTool | undefined;
}

export const NO_OFFER: Offer = { functions: [], offeredFor: () => undefined };

/** A name as Claude and others write it, which take what is no letter and no digit for one and the same. */
function plainName(name: string): string {
  return name.replace(/[-.]/g, "_");
}

/** All external tools that a worker has, from wherever they come. */
export class ExternalTools {
  private readonly sources: readonly ToolSource[];
  private readonly noteOnce: (sentence: string) => void;
  /** What was found of each, since it is asked at each turn and each call. */
  private readonly checked = new WeakMap<ExternalTool, CheckedTool>();

  /** `note` is told, once each, of tools that are not offered, for the operator. */
  constructor(sources: readonly ToolSource[], note: (sentence: string) => void) {
    this.sources = sources;
    this.noteOnce = sayingOnce(note);
  }

  /** What an agent is offered now, in the order of the names. Throws `NotReached`. */
  async offer(place: ToolPlace): Promise<Offer> {
    const tools = await this.toolsFor(place);
    const wires = wireNames(
      tools.map(({ name }) => name),
      sha256,
    );
    const byName = new Map<string, OfferedTool>();
    const byPlainName = new Map<string, OfferedTool | undefined>();
    for (const [index, tool] of tools.entries()) {
      const offered = offeredTool(tool);
      const wire = wires[index] ?? "";
      byName.set(tool.name, offered);
      byName.set(wire, offered);
      byPlainName.set(plainName(wire), byPlainName.has(plainName(wire)) ? undefined : offered);
    }
    return {
      functions: tools.map((tool, index) => externalFunctionTool(wires[index] ?? "", tool)),
      offeredFor: ({ name }) => byName.get(name) ?? byPlainName.get(plainName(name)),
    };
  }

  /** The tool of that name as it is now, whatever has become of others. Throws `NotReached`. */
  async find(place: ToolPlace, name: string): Promise<ExternalTool | undefined> {
    return (await this.toolsFor(place, name)).find((tool) => tool.name === name);
  }

  /** Tools of the same family that change nothing: with them a model can look whether a call has taken effect. */
  async looksOf(place: ToolPlace, name: string): Promise<readonly string[]> {
    const tools = await this.toolsFor(place, name).catch(() => []);
    const family = tools.find((tool) => tool.name === name)?.family;
    return tools.filter((tool) => tool.effect === "none" && tool.family === family).map((tool) => tool.name);
  }

  async close(): Promise<void> {
    await Promise.all(this.sources.map((source) => source.close()));
  }

  private async toolsFor(place: ToolPlace, name?: string): Promise<readonly ExternalTool[]> {
    const found = (await Promise.all(this.sources.map((source) => source.tools(place, name)))).flat();
    const offered = new Map<string, ExternalTool>();
    const left: string[] = [];
    let bytes = 0;
    for (const tool of smallFamiliesFirst(found)) {
      const checked = this.checked.get(tool) ?? check(tool);
      this.checked.set(tool, checked);
      if ("problem" in checked) {
        this.noteOnce(`${checked.problem} It is not offered.`);
        continue;
      }
      if (canonicalToolName(tool.name) !== undefined || offered.has(tool.name)) {
        const sentence = `The tool ${tool.name} is not offered to ${place.agentId}: there is another tool of that name.`;
        this.noteOnce(sentence);
        continue;
      }
      bytes += checked.bytes;
      if (offered.size === MAX_EXTERNAL_TOOLS || bytes > MAX_DEFINITION_BYTES) left.push(tool.name);
      else offered.set(tool.name, checked.tool);
    }
    if (left.length > 0 && name === undefined) this.noteOnce(leftOut(place, offered.size, left));
    return [...offered.values()].toSorted(byName);
  }
}

/** The largest family lacks some where they are too many: a server with hundreds of tools does not take the place of another's two. */
function smallFamiliesFirst(tools: readonly ExternalTool[]): readonly ExternalTool[] {
  const sizes = new Map<string, number>();
  for (const { family } of tools) sizes.set(family, (sizes.get(family) ?? 0) + 1);
  const sizeOf = ({ family }: ExternalTool): number => sizes.get(family) ?? 0;
  return tools.toSorted((a, b) => sizeOf(a) - sizeOf(b) || byName(a, b));
}

function byName(a: ExternalTool, b: ExternalTool): number {
  return a.name < b.name ? -1 : 1;
}

function leftOut({ agentId }: ToolPlace, offered: number, left: readonly string[]): string {
  const names = listSome(left.toSorted(), MAX_NAMED);
  return `${agentId} is offered ${offered} of ${offered + left.length} tools, as many as a request may hold; left out: ${names}. Name those that it needs as tools of its server in the settings.`;
}

/** Of the tools that are left out. */
const MAX_NAMED = 5;

type CheckedTool = { readonly tool: ExternalTool; readonly bytes: number } | { readonly problem: string };

function check(tool: ExternalTool): CheckedTool {
  const checked = checkExternalTool(tool);
  if (!checked.ok) return { problem: checked.error.message };
  const { description, parameters } = checked.value;
  const bytes = Buffer.byteLength(description) + jsonBytes(parameters);
  const run: ExternalTool["run"] = (args, scope) => tool.run(withOwnNames(args, parameters), scope);
  return { tool: { ...tool, description, parameters, run }, bytes };
}

/** What is kept of a tool with each call of it. */
export function offeredTool({
  name,
  description,
  parameters,
  effect,
  timeoutMs,
}: ExternalToolSpec): OfferedTool {
  return { name, effect, timeoutMs, sha256: sha256(JSON.stringify({ description, parameters, effect })) };
}
