import { type TranscriptVisit, readResults, readTranscript } from "../../client/stores/transcript.js";
import { InterlockError } from "../../client/temporal/interlock-error.js";
import type { TranscriptCall, TranscriptEntry } from "../../contract/reads.js";
import { codeSpan, inertMarkdown } from "../../core/markdown.js";
import type { JsonValue } from "../../core/json.js";
import { printableJson } from "../../core/documents/printable-json.js";
import {
  EXIT,
  type ExitCode,
  UsageError,
  print,
  printBlock,
  printJson,
  printNote,
} from "../terminal/output.js";
import { notFound, read } from "../session/run-folder.js";
import { withReader } from "../session/run-session.js";

interface TranscriptOptions {
  readonly node?: string;
  readonly results?: boolean;
  readonly reasoning?: boolean;
  readonly json?: boolean;
}

/** `interlock transcript`: what was said in a run, as Markdown. */
export async function transcriptCommand(runId: string, options: TranscriptOptions): Promise<ExitCode> {
  const { node, reasoning = false } = options;
  await withReader(runId, async ({ reader }) => {
    const { metadata, standing } = read(runId, await reader.ask("read.run", { run: runId }));
    const run = metadata.runId;
    const choice = { reasoning, ...(node === undefined ? {} : { node }) };
    const transcript = await readTranscript(reader, run, choice).catch((error: unknown) => {
      throw asSaid(run, error);
    });
    if (standing.problem !== undefined) printNote(standing.problem);
    const results =
      options.results === true ? await readResults(reader, run, transcript) : new Map<string, JsonValue>();
    if (options.json === true) {
      printJson({
        runId: run,
        visits: transcript,
        ...(options.results === true ? { results: [...results] } : {}),
      });
    } else {
      print(`# Run ${run}`);
      for (const visit of transcript) printVisit(visit, results);
    }
  });
  return EXIT.done;
}

function asSaid(run: string, error: unknown): unknown {
  if (!(error instanceof InterlockError)) return error;
  if (error.code === "E_PRECONDITION_FAILED") return new UsageError(error.message, { cause: error });
  return notFound(run, error);
}

function printVisit(
  { name, nodeId, entries }: TranscriptVisit,
  results: ReadonlyMap<string, JsonValue>,
): void {
  print("");
  print(`## ${nodeId === null ? name : `${codeSpan(nodeId)}, ${name}`}`);
  for (const entry of entries) printEntry(entry, results);
}

/** Texts of models and people are quoted: none of their lines can be taken for one of ours. */
function printEntry(entry: TranscriptEntry, results: ReadonlyMap<string, JsonValue>): void {
  if (entry.type === "begin") return;
  print("");
  switch (entry.type) {
    case "user":
      print(`**${entry.by === undefined ? "User" : codeSpan(entry.by)}**, at ${codeSpan(entry.nodeId)}:`);
      printQuoted(entry.text);
      return;
    case "fold":
      print(`*From here on the model does not see the results of ${entry.calls} calls: they no longer fit.*`);
      return;
    case "correction":
      print("**Interlock**:");
      printQuoted(entry.text);
      return;
    case "assistant":
      // What the runtime has read by itself before the first turn is written down as the model's.
      print(
        entry.turn === 0 ? "**Interlock** has read:" : `**${codeSpan(entry.model)}**, turn ${entry.turn}:`,
      );
      if (entry.reasoning !== undefined) {
        print("");
        print("*Reasoning:*");
        printQuoted(entry.reasoning);
      }
      printQuoted(entry.text);
      for (const call of entry.calls) printCall(call, results.get(call.id));
  }
}

function printQuoted(text: string): void {
  if (text.trim() === "") return;
  print("");
  printBlock(inertMarkdown(text), "> ");
}

function printCall({ name, summary, outcome }: TranscriptCall, result: JsonValue | undefined): void {
  print(
    `- ${codeSpan(name)} ${codeSpan(summary)}: ${outcome === undefined ? "not done" : codeSpan(outcome)}`,
  );
  if (result === undefined || result === null) return;
  print("");
  printBlock(printableJson(result, 2), "      ");
  print("");
}
