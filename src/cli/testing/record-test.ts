import { stringify } from "yaml";
import { readTranscript } from "../../client/stores/transcript.js";
import type { StoreReader, TranscriptCall, TranscriptEntry } from "../../contract/reads.js";
import type { GraphRunInput } from "../../contract/run.js";
import { addToList } from "../../core/add-to-list.js";
import { defined } from "../../core/defined.js";
import { type JsonObject, type JsonValue, isObject, jsonIn, textIn } from "../../core/json.js";
import {
  type PackageTest,
  type ScriptedAnswer,
  type ScriptedCall,
  TESTS_FOLDER,
  type ToolAnswer,
} from "../../core/package/package-test.js";
import { utf8Length } from "../../core/text.js";
import { canonicalToolName } from "../../core/tools/tool-specs.js";
import { CommandError } from "../terminal/output.js";
import { read } from "../session/run-folder.js";
import { eventsOf, outcomeOf } from "../report/run-outcome.js";
import { answerIn } from "./recorded-answers.js";
import { mapped, versionMark, versionTold } from "./file-versions.js";
import { parseTest } from "./read-tests.js";

/** A test that a run was made into. */
export interface RecordedTest {
  /** The file's text. */
  readonly text: string;
  /** The files of the project that went into it. */
  readonly files: readonly string[];
}

/**
 * A run as a test: what was answered and replied, in it and in the runs of its subworkflows, and what came of it. Throws a sentence for
 * a run that cannot be one: a bundle run, a fork, one that is under way, one of another package.
 */
export async function recordTest(
  reader: StoreReader,
  run: string,
  wanted: { readonly packageName: string; readonly firstAgent: string | undefined; readonly name: string },
): Promise<RecordedTest> {
  const { metadata } = read(run, await reader.ask("read.run", { run }));
  const refuse = (why: string): CommandError => new CommandError(`Run ${run} cannot be recorded: ${why}`);
  if (metadata.bundle !== undefined) throw refuse("it is a bundle run, and belongs to no package.");
  if (metadata.forkedFrom !== undefined) {
    throw refuse(`it is a fork, and begins in the middle. Record ${metadata.forkedFrom.runId} in its place.`);
  }
  if (metadata.phase === "running" || metadata.phase === "idle") {
    throw refuse("it is under way. Wait until it is over, or asks something.");
  }
  const known = await reader.ask("read.package", { packageId: metadata.packageId });
  if (known.ok && known.value.name !== wanted.packageName) {
    throw refuse(`it is one of the package "${known.value.name}", not of "${wanted.packageName}".`);
  }
  const recorder = new Recorder(reader);
  const input = await recorder.readAll(run);
  const { phase, path, refusals, artifacts } = await outcomeOf(reader, run);
  const { replies } = recorder;
  const test: PackageTest = {
    name: wanted.name,
    ...optionsOf(input, wanted.firstAgent),
    ...(recorder.files.size === 0 ? {} : { files: Object.fromEntries(recorder.files) }),
    answers: Object.fromEntries(recorder.answers),
    ...(recorder.tools.size === 0 ? {} : { tools: Object.fromEntries(recorder.tools) }),
    ...(replies.length === 0 ? {} : { replies }),
    expect: {
      phase,
      path: [...path],
      refusals: refusals.map(({ code }) => code),
      artifacts: artifacts.flatMap(({ path: file, sha256 }) =>
        sha256 === null ? [] : [{ path: file, sha256 }],
      ),
    },
  };
  const yaml = stringify(test, { version: "1.2", schema: "core", lineWidth: 0 });
  const text = `# Recorded of run ${metadata.runId}.\n${yaml}`;
  const parsed = parseTest(`${TESTS_FOLDER}/${wanted.name}.yaml`, text);
  if ("findings" in parsed) throw refuse(parsed.findings.map(({ message }) => message).join(" "));
  return { text, files: [...recorder.files.keys()] };
}

function optionsOf(input: GraphRunInput, firstAgent: string | undefined): Partial<PackageTest> {
  const { workflowRef, activeAgentId, storyId, evaluateConditions, autopilot, wholeRunConversation } = input;
  return defined({
    workflow: workflowRef === "" ? undefined : workflowRef,
    agent: activeAgentId === firstAgent ? undefined : activeAgentId,
    input: input.input === "" ? undefined : input.input,
    story: storyId,
    conditions: evaluateConditions,
    autopilot,
    wholeRunConversation,
  });
}

/** What the events of a run say beside its conversations. */
interface Course {
  /** Where it stood at each visit. */
  readonly nodes: ReadonlyMap<number, string>;
  /** The external tools that were called, by the id of the call. */
  readonly external: ReadonlyMap<string, string>;
  /** The runs of subworkflows, in order, each with the visit whose work it has done. */
  readonly below: { readonly visit: number; readonly run: string }[];
}

async function courseOf(reader: StoreReader, run: string): Promise<Course> {
  const nodes = new Map<number, string>();
  const external = new Map<string, string>();
  const below: Course["below"] = [];
  for await (const event of eventsOf(reader, run)) {
    if (event.kind === "model.turn") nodes.set(event.visit, event.nodeId);
    if (event.kind === "node.pass" && event.childRunId !== undefined) {
      below.push({ visit: event.visit, run: event.childRunId });
    }
    if (event.kind !== "tool.exec" || canonicalToolName(event.toolName) !== undefined) continue;
    external.set(event.toolCallId, event.toolName);
  }
  return { nodes, external, below };
}

/** Where an answer stands. */
interface Conversation {
  readonly run: string;
  readonly name: string;
  readonly course: Course;
}

type Answered = Extract<TranscriptEntry, { readonly type: "assistant" }>;

const PROJECT = "@project/";
const STATE = "@state/";
/** A file that is read in more pieces, or is larger, is not taken into the test. */
const MAX_FILE_BYTES = 64 * 1024;

/** Goes through the conversations of a run and of those below it, in order. */
class Recorder {
  readonly answers = new Map<string, ScriptedAnswer[]>();
  /** What external tools have answered, by their names. */
  readonly tools = new Map<string, ToolAnswer[]>();
  /** What the user has said, but for the first words. */
  readonly replies: string[] = [];
  /** Files of the project that were there before the run wrote them, as it has read them. */
  readonly files = new Map<string, string>();
  private readonly written = new Set<string>();
  /** Hashes of a run's own state, each with its file: they are others in another run. */
  private readonly ofState = new Map<string, string>();
  private readonly reader: StoreReader;

  constructor(reader: StoreReader) {
    this.reader = reader;
  }

  /** Returns what the run was opened with. */
  async readAll(run: string): Promise<GraphRunInput> {
    const { request } = read(run, await this.reader.ask("read.request", { run }));
    const input = (request?.["input"] ?? {}) as unknown as GraphRunInput; // as the run was opened with
    const course = await courseOf(this.reader, run);
    let isReply = (input.input ?? "") === "";
    const readBelow = async (before: number): Promise<void> => {
      for (let [next] = course.below; next !== undefined && next.visit < before; [next] = course.below) {
        course.below.shift();
        await this.readAll(next.run);
      }
    };
    for (const { name, entries } of await readTranscript(this.reader, run)) {
      for (const entry of entries) {
        if (entry.type === "begin") await readBelow(entry.visit);
        if (entry.type === "user") {
          if (isReply) this.replies.push(entry.text);
          isReply = true;
        }
        if (entry.type !== "assistant" || entry.turn === 0) continue;
        await this.readAnswer({ run, name, course }, entry);
      }
    }
    await readBelow(Number.POSITIVE_INFINITY);
    return input;
  }

  private async readAnswer(from: Conversation, { visit, text, calls: made }: Answered): Promise<void> {
    const calls: NonNullable<ScriptedAnswer["calls"]> = [];
    const results: [JsonValue | undefined, JsonValue | undefined][] = [];
    for (const one of made) {
      const { call, given, result } = await this.callOf(from, one);
      calls.push(call);
      results.push([given, result]);
    }
    // An answer is given as a whole: none of its calls has seen the result of another.
    for (const [given, result] of results) this.learn(given, result);
    const nodeId = from.course.nodes.get(visit) ?? "";
    const answer = { ...(text === "" ? {} : { text }), ...(calls.length === 0 ? {} : { calls }) };
    addToList(this.answers, nodeId, answer);
  }

  private async callOf({ run, name, course }: Conversation, { id, name: shown }: TranscriptCall) {
    const called = read(run, await this.reader.ask("read.call", { run, name, call: id }));
    const { text, isCut } = called.arguments;
    if (isCut) {
      throw new CommandError(
        `Run ${run} cannot be recorded: a call of ${shown} is too long, ${called.arguments.bytes} bytes.`,
      );
    }
    const given = jsonIn(text);
    const result = called.result === null || called.result.isCut ? undefined : jsonIn(called.result.text);
    const external = course.external.get(id);
    if (external !== undefined && isObject(given)) this.answered(external, given, result);
    return {
      call: {
        tool: external ?? canonicalToolName(called.name) ?? called.name,
        arguments: isObject(given) ? (this.withMarks(given) as ScriptedCall["arguments"]) : text, // of an object
      },
      given,
      result,
    };
  }

  private answered(tool: string, given: JsonObject, result: JsonValue | undefined): void {
    const said = answerIn(tool, result);
    if (said === undefined) return;
    // What is JSON is JSON to the schema as well.
    addToList(this.tools, tool, { arguments: given as ToolAnswer["arguments"], ...said });
  }

  private withMarks(given: JsonValue): JsonValue {
    return mapped(given, (text) => {
      const path = this.ofState.get(text);
      return path === undefined ? text : versionMark(path);
    });
  }

  /** What a call's result tells of files. */
  private learn(given: JsonValue | undefined, result: JsonValue | undefined): void {
    const path = textIn(given, "path") ?? "";
    const version = versionTold(result);
    if (version !== undefined && path.startsWith(STATE)) this.ofState.set(version, path);
    const place = textIn(result, "path") ?? "";
    if (!place.startsWith(PROJECT)) return;
    const file = place.slice(PROJECT.length);
    const content = textIn(result, "content");
    if (textIn(result, "sha256After") !== undefined) this.written.add(file);
    else if (content !== undefined && !this.written.has(file) && isWhole(content, result)) {
      this.files.set(file, content);
    }
  }
}

/** A read of a part of a file has less than its bytes. */
function isWhole(content: string, result: JsonValue | undefined): boolean {
  const bytes = (result as JsonObject)["bytes"]; // it has a text of that name
  return bytes === utf8Length(content) && bytes <= MAX_FILE_BYTES;
}
