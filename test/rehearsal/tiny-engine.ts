import { createHash } from "node:crypto";
import {
  FILE_FUNCTION_TOOLS,
  type FrontmatterUpdate,
  parseToolCall,
} from "../../src/core/tools/tool-specs.js";
import type { JsonObject } from "../../src/core/json.js";
import { holds } from "../../src/core/package/json-logic.js";
import { decide } from "../../src/rehearsal/decide.js";
import { type Memory, newMemory } from "../../src/rehearsal/memory.js";
import type { ChatMessage, ChatRequest, Turn } from "../../src/rehearsal/wire.js";

/** A package as small as a test wants it. */
export interface TinyPackage {
  readonly entry: string;
  readonly nodes: readonly { id: string; type?: string; outputs?: readonly string[]; step?: string }[];
  readonly edges: readonly {
    from: string;
    to: string;
    label?: string;
    isDefault?: boolean;
    /** Stands for a condition: says from the variables whether the edge is open. */
    open?: (variables: JsonObject) => boolean;
    conditionExpr?: JsonObject;
  }[];
}

export interface PlayOptions {
  readonly answer?: (request: ChatRequest) => Turn | Promise<Turn>;
  readonly runId?: string;
  readonly keepConversation?: boolean;
  readonly project?: Readonly<Record<string, string>>;
  readonly maxTurns?: number;
  /** As in a run with `--conditions`. */
  readonly evaluateConditions?: boolean;
  /** Refuses a call before it is carried out. */
  readonly refuse?: (
    tool: string,
    path: string,
    attempt: number,
  ) => { code: string; message: string } | undefined;
  /** What the user answers to each question; without one the run ends as waiting. */
  readonly answers?: readonly string[];
  readonly tools?: ChatRequest["tools"];
}

export interface Played {
  readonly phase: "completed" | "waiting" | "too-long";
  readonly question: string | undefined;
  readonly path: readonly string[];
  readonly state: TinyState;
  readonly project: ReadonlyMap<string, string>;
  readonly requests: readonly ChatRequest[];
  readonly turns: readonly Turn[];
  readonly refusals: readonly string[];
}

interface TinyState {
  runId: string;
  currentNodeId: string;
  stepsCompleted: string[];
  decisionLog: { from: string; to: string; label: string; reason?: string | undefined }[];
  variables: Record<string, unknown>;
  artifacts: string[];
}

const OFFERED = FILE_FUNCTION_TOOLS.map((tool) => ({ type: "function", function: { ...tool.function } }));

/** A memory that lives as long as a server's would: give it to several runs to play them on one server. */
export function rehearsal(options: Parameters<typeof newMemory>[0] = {}): (request: ChatRequest) => Turn {
  let memory: Memory = newMemory(options);
  return (request) => {
    const decision = decide(request, memory);
    memory = decision.memory;
    return decision.turn;
  };
}

/**
 * Plays a package the way the contracts describe the engine, naively and in memory: it is here so that the
 * rehearsal is tested against the contract, not against our own runtime.
 */
export async function play(pack: TinyPackage, options: PlayOptions = {}): Promise<Played> {
  const answer = options.answer ?? rehearsal();
  const engine = new TinyEngine(pack, options);
  const answers = [...(options.answers ?? [])];
  const turns: Turn[] = [];
  let question: string | undefined;
  for (let turn = 0; turn < (options.maxTurns ?? 2_000); turn += 1) {
    const given = await answer(engine.request());
    turns.push(given);
    engine.take(given);
    if (engine.isComplete()) return engine.played("completed", undefined, turns);
    if (given.calls.length === 0) {
      question = given.content;
      const words = answers.shift();
      if (words === undefined) return engine.played("waiting", question, turns);
      engine.tell(words);
    }
  }
  return engine.played("too-long", question, turns);
}

class TinyEngine {
  readonly #pack: TinyPackage;
  readonly #options: PlayOptions;
  readonly #project: Map<string, string>;
  readonly #state: TinyState;
  readonly #path: string[];
  readonly #requests: ChatRequest[] = [];
  readonly #refusals: string[] = [];
  readonly #attempts = new Map<string, number>();
  #messages: ChatMessage[] = [];
  #calls = 0;

  constructor(pack: TinyPackage, options: PlayOptions) {
    this.#pack = pack;
    this.#options = options;
    this.#project = new Map(Object.entries(options.project ?? {}));
    this.#state = {
      runId: options.runId ?? "run-1",
      currentNodeId: "",
      stepsCompleted: [],
      decisionLog: [],
      variables: {},
      artifacts: [],
    };
    this.#path = [pack.entry];
    this.#brief("start");
  }

  request(): ChatRequest {
    const request: ChatRequest = {
      model: "any",
      messages: [...this.#messages],
      tools: this.#options.tools ?? OFFERED,
    };
    this.#requests.push(request);
    return request;
  }

  take(turn: Turn): void {
    const calls = turn.calls.map((call) => {
      this.#calls += 1;
      const text = JSON.stringify(call.arguments);
      return { id: `call_${this.#calls}`, type: "function", function: { name: call.name, arguments: text } };
    });
    this.#messages.push({
      role: "assistant",
      content: turn.content,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    });
    const before = this.#node();
    for (const call of calls) {
      const result = this.#run(call.function.name, call.function.arguments);
      this.#messages.push({ role: "tool", tool_call_id: call.id, content: JSON.stringify(result) });
    }
    if (this.#node() !== before) {
      this.#path.push(this.#node());
      if (this.#options.keepConversation !== true) this.#messages = [];
      this.#brief("continue");
    }
  }

  tell(words: string): void {
    this.#messages.push({ role: "user", content: `USER_INPUT\n- forNodeId: ${this.#node()}\n${words}` });
  }

  isComplete(): boolean {
    const node = this.#pack.nodes.find((candidate) => candidate.id === this.#node());
    return (
      this.#state.variables["workflowStatus"] === "complete" ||
      (node?.type === "end" && this.#state.stepsCompleted.includes(node.id))
    );
  }

  played(phase: Played["phase"], question: string | undefined, turns: readonly Turn[]): Played {
    return {
      phase,
      question,
      path: this.#path,
      state: this.#state,
      project: this.#project,
      requests: this.#requests,
      turns,
      refusals: this.#refusals,
    };
  }

  #node(): string {
    return this.#state.currentNodeId.trim() || this.#pack.entry;
  }

  #allowedNext(
    variables: JsonObject,
  ): { to: string; label: string; isDefault: boolean; satisfied?: boolean }[] {
    const evaluated =
      this.#options.evaluateConditions === true || this.#pack.edges.some((edge) => edge.open !== undefined);
    const facts = { variables, gateDecisions: {}, routingFlags: {} };
    return this.#pack.edges
      .filter((edge) => edge.from === this.#node())
      .map((edge) => ({
        to: edge.to,
        label: edge.label ?? `to ${edge.to}`,
        isDefault: edge.isDefault === true,
        ...(evaluated ? { satisfied: edge.open?.(variables) ?? holds(edge.conditionExpr ?? {}, facts) } : {}),
      }));
  }

  #brief(intent: string): void {
    const node = this.#pack.nodes.find((candidate) => candidate.id === this.#node());
    if (node === undefined) throw new Error(`No node ${this.#node()}`);
    if (this.#messages.length === 0) this.#messages.push({ role: "system", content: "Base rules." });
    this.#messages.push({
      role: "user",
      content: [
        "RUN_DIRECTIVE",
        "- runType: bmad-micro",
        `- intent: ${intent}`,
        "- workflow: tiny",
        "- state: @state/workflow.md",
        "- graph: @pkg/workflow.graph.json",
        "- artifactsRoot: @project/artifacts/",
        `- currentNodeId: ${node.id}`,
      ].join("\n"),
    });
    this.#messages.push({
      role: "user",
      content: [
        "NODE_BRIEF",
        `- currentNodeId: ${node.id} (type=${node.type ?? "step"})`,
        `- stepFile: @pkg/steps/${node.id}.md`,
        "- outputsMap:",
        ...(node.outputs ?? []).map((output) => `  - ${output} -> @project/${output}`),
        "- allowedNext:",
        ...this.#allowedNext(this.#state.variables as JsonObject).map(
          (edge) =>
            `  - ${edge.to} (label=${edge.label}, default=${edge.isDefault}, condition=none${edge.satisfied === undefined ? "" : `, satisfied=${edge.satisfied}`})`,
        ),
      ].join("\n"),
    });
  }

  #run(name: string, text: string): JsonObject {
    const parsed = parseToolCall(name, text);
    if (!parsed.ok) return this.#refuse(name, parsed.error.code, parsed.error.message);
    const { tool } = parsed.value;
    if (tool === "state.record" || tool === "fs.edit")
      throw new Error(`The tiny engine's runs have no ${tool}.`);
    const { path } = parsed.value.arguments;
    const attempt = (this.#attempts.get(`${tool} ${path}`) ?? 0) + 1;
    this.#attempts.set(`${tool} ${path}`, attempt);
    const refusal = this.#options.refuse?.(tool, path, attempt);
    if (refusal !== undefined) return this.#refuse(`${tool} ${path}`, refusal.code, refusal.message);
    switch (parsed.value.tool) {
      case "fs.list":
        return { ok: true, path, entries: this.#entries(path) };
      case "fs.read":
        return this.#read(path);
      case "fs.search":
        throw new Error("The rehearsal does not search.");
      case "fs.write":
        return this.#write(path, parsed.value.arguments.content, parsed.value.arguments.ifMatchSha256);
      case "fs.apply_patch":
        return this.#patch(parsed.value.arguments.patch.update);
    }
  }

  #refuse(what: string, code: string, message: string, details?: JsonObject): JsonObject {
    this.#refusals.push(`${what}: ${code}`);
    return { ok: false, error: { code, message, ...(details === undefined ? {} : { details }) } };
  }

  #entries(path: string): string[] {
    const prefix = path.endsWith("/") ? path : `${path}/`;
    const below = [...this.#project.keys()].filter((file) => file.startsWith(prefix));
    return [...new Set(below.map((file) => file.slice(prefix.length).replace(/\/.*/, "/")))].sort();
  }

  #read(path: string): JsonObject {
    const content = this.#contentOf(path);
    if (content === undefined) return this.#refuse(`fs.read ${path}`, "ENOENT", `${path} does not exist.`);
    return { ok: true, path, bytes: content.length, sha256: sha256(content), truncated: false, content };
  }

  #contentOf(path: string): string | undefined {
    if (path === "@state/workflow.md") {
      const lines = Object.entries(this.#state).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
      return ["---", ...lines, "---", "# Tiny", ""].join("\n");
    }
    if (path === "@pkg/workflow.graph.json") {
      return JSON.stringify({
        schemaVersion: "1.1",
        entryNodeId: this.#pack.entry,
        nodes: this.#pack.nodes.map(({ id, type = "step" }) => ({ id, type, file: `steps/${id}.md` })),
        edges: this.#pack.edges.map(({ from, to, label = `to ${to}`, conditionExpr }) => ({
          from,
          to,
          label,
          conditionExpr,
        })),
      });
    }
    const node = this.#pack.nodes.find((candidate) => path === `@pkg/steps/${candidate.id}.md`);
    if (node !== undefined) return node.step ?? `---\nnodeId: ${node.id}\n---\n# Step ${node.id}\n`;
    return this.#project.get(path);
  }

  #write(path: string, content: string, ifMatchSha256: string | undefined): JsonObject {
    const old = this.#project.get(path);
    if (!path.startsWith("@project/") || path.includes("..")) {
      return this.#refuse(`fs.write ${path}`, "E_SANDBOX_VIOLATION", "Not writable.");
    }
    if (ifMatchSha256 !== undefined && (old === undefined || sha256(old) !== ifMatchSha256)) {
      return this.#refuse(`fs.write ${path}`, "E_PRECONDITION_FAILED", "The file has changed.");
    }
    this.#project.set(path, content);
    if (old === undefined && path.startsWith("@project/artifacts/")) {
      this.#state.artifacts.push(path.slice("@project/".length));
    }
    return { ok: true, path, bytesWritten: content.length, sha256After: sha256(content) };
  }

  #patch(update: FrontmatterUpdate): JsonObject {
    const to = update.currentNodeId?.set;
    const variables = { ...this.#state.variables, ...update.variables?.set };
    const from = this.#node();
    const allowedNext = this.#allowedNext(variables as JsonObject);
    const legal = allowedNext.some((edge) => edge.to === to && edge.satisfied !== false);
    if (to !== undefined && to !== from && !legal) {
      const message = `${from} → ${to} is no edge.`;
      const details = { from, to, allowedNext };
      return this.#refuse(`jump ${from} → ${to}`, "E_INVALID_TRANSITION", message, details);
    }
    this.#state.variables = variables;
    this.#state.decisionLog.push(...(update.decisionLog?.append ?? []));
    const steps = [...this.#state.stepsCompleted, ...(update.stepsCompleted?.append ?? [])];
    this.#state.stepsCompleted = [...new Set(steps)];
    if (to !== undefined) this.#state.currentNodeId = to;
    return { ok: true, path: "@state/workflow.md", sha256Before: "0", sha256After: "1" };
  }
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
