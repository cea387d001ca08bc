import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { verifyAuditLog } from "../../src/store/runs/audit-verify.js";
import type { AuditHead } from "../../src/core/run/audit-head.js";
import type { RunOperations } from "./evidence.js";
import { type Finding, compareLists, doubled, lost } from "./finding.js";
import type { PlannedRun } from "./plan.js";
import { answerIdOf } from "./plan-visits.js";
import { outcomeOf } from "./script.js";

type Json = Readonly<Record<string, unknown>>;

/** A call as an answer made it that was written down. */
export interface SaidCall {
  readonly id: string;
  readonly name: string;
  readonly argumentsJson: string;
}

interface Answer {
  readonly turn: string;
  readonly calls: readonly SaidCall[];
}

export interface RecordsVerdict {
  readonly findings: readonly Finding[];
  /** The names of the answers that were acted on, by turn (`visit.turn`). */
  readonly actedOn: readonly string[];
  readonly turns: number;
  readonly calls: number;
  /** The calls that the answers made. */
  readonly said: readonly SaidCall[];
  /** What each call came to, by the call journal. */
  readonly outcomes: ReadonlyMap<string, string>;
  /** The lines of the audit log. */
  readonly events: readonly Json[];
  /** Nothing of the machine came between the script and its calls. */
  readonly isUndisturbed: boolean;
}

/** Compares conversations, call journal and audit log with each other and with the script. */
export async function checkRecords(
  runDir: string,
  run: PlannedRun,
  operations: RunOperations,
  history: { readonly head: AuditHead | undefined; readonly answerIds: readonly string[] },
): Promise<RecordsVerdict> {
  const conversations = await readConversations(join(runDir, "conversation"));
  const entries = conversations.flatMap(({ lines }) => lines);
  const answers = entries.filter(({ type }) => type === "assistant");
  const said: readonly Answer[] = answers.map(({ visit, turn, calls }) => ({
    turn: `${String(visit)}.${String(turn)}`,
    calls: calls as readonly SaidCall[], // the store writes them
  }));
  const calls = said.flatMap((answer) => answer.calls);
  const journal = await jsonLines(join(runDir, "calls.jsonl"));
  const results = journal.filter(({ result }) => result !== undefined);
  const outcomes = new Map(results.map(({ id, result }) => [String(id), outcomeOf(result)]));
  const isUndisturbed = operations.failures.length === 0 && calls.every(({ id }) => !id.includes("."));
  const log = join(runDir, "state/logs/execution.jsonl");
  const audit = await verifyAuditLog(log, history.head);
  const events = await jsonLines(log);
  const noted = new Set(events.map(({ toolCallId }) => toolCallId));
  const ids = calls.map(({ id }) => id);
  // A run that failed in the middle of an answer begins its visit again: the calls it had not come to are not made, and
  // their ids are free.
  const ran = new Set(ids.filter((id) => outcomes.has(id) || noted.has(id)));
  const expected = operations.failures.length === 0 ? ids : [...ran];
  const findings = [
    ...audit.findings.map(({ line, message }) => lost(`audit log, line ${line}: ${message}`)),
    ...conversations.flatMap(({ name, lines }) => onceEach(`conversation ${name}`, lines.map(entryName))),
    ...compareLists("results in the call journal", idsOf(results), expected, "any order"),
    ...checkAudit(
      events,
      { turns: said.map(({ turn }) => turn), calls: expected, outcomes },
      history.answerIds,
    ),
    ...(isUndisturbed ? checkTurns(run, said) : []),
    ...checkAnswers(run, operations, history.answerIds),
    ...checkInputs(entries, operations, history.answerIds),
    ...checkCalls(run, calls, outcomes, operations.failures.length === 0),
  ];
  return {
    findings,
    actedOn: answers.map(({ model }) => String(model)),
    turns: said.length,
    calls: calls.length,
    said: calls,
    outcomes,
    events,
    isUndisturbed,
  };
}

function checkAudit(
  events: readonly Json[],
  expected: {
    readonly turns: readonly string[];
    readonly calls: readonly string[];
    readonly outcomes: ReadonlyMap<string, string>;
  },
  answerIds: readonly string[],
): readonly Finding[] {
  const of = (kind: string) => events.filter((event) => event["kind"] === kind);
  const executed = of("tool.exec");
  const phases = of("run.phase");
  const findings = [
    ...compareLists(
      "tool.exec in the audit log",
      executed.map(({ toolCallId }) => String(toolCallId)),
      expected.calls,
      "any order",
    ),
    ...compareLists("model.turn in the audit log", idsOf(of("model.turn")), expected.turns, "any order"),
    ...compareLists(
      "user.input in the audit log",
      idsOf(of("user.input")),
      ["input", ...new Set(answerIds)],
      "any order",
    ),
    ...onceEach("run.phase in the audit log", idsOf(phases)),
  ];
  for (const { toolCallId, output } of executed) {
    const told = outcomeOf(output);
    const known = expected.outcomes.get(String(toolCallId));
    if (known !== undefined && known !== told) {
      findings.push(lost(`the audit log says ${told} of ${String(toolCallId)}, the call journal ${known}.`));
    }
  }
  const ends = phases.filter(({ phase }) => phase === "completed").length;
  if (ends !== 1)
    findings.push((ends > 1 ? doubled : lost)(`it was completed ${ends} times, by its audit log.`));
  return findings;
}

/** The model answered as often as planned. */
function checkTurns(run: PlannedRun, said: readonly Answer[]): readonly Finding[] {
  const planned = run.visits.flatMap(({ turns }, visit) =>
    turns.map((_, turn) => `${visit + 1}.${turn + 1}`),
  );
  const turns = said.map(({ turn }) => turn);
  return compareLists("answers of the model in the conversations", turns, planned, "any order");
}

/** Each planned question was answered once, and nothing was taken for an answer that nobody gave. */
function checkAnswers(
  run: PlannedRun,
  { answers }: RunOperations,
  answerIds: readonly string[],
): readonly Finding[] {
  const sent = new Set(answers.map(({ answerId }) => answerId));
  const turns = run.visits.flatMap((visit) => visit.turns);
  const planned = turns.flatMap((turn) => ("answer" in turn ? [answerIdOf(turn.question)] : []));
  const findings = planned
    .filter((id) => !answerIds.includes(id))
    .map((id) => lost(`the ${id} is in no history.`));
  for (const id of new Set(answerIds)) {
    if (!sent.has(id)) findings.push(doubled(`the ${id} is in the history, and nobody sent it.`));
  }
  return findings;
}

/** The user's words are in the conversation once; in that of a visit that was begun again, once more. */
function checkInputs(
  entries: readonly Json[],
  operations: RunOperations,
  answerIds: readonly string[],
): readonly Finding[] {
  const said = entries.filter(({ type }) => type === "user").map(({ id }) => String(id));
  const known = operations.failures.length === 0 ? said : [...new Set(said)];
  const expected = ["input", ...new Set(answerIds)];
  return compareLists("the user's words in the conversation", known, expected, "any order");
}

/** Each planned call came to what was planned, once; what failed for a reason of the machine was made again. */
function checkCalls(
  run: PlannedRun,
  calls: readonly SaidCall[],
  outcomes: ReadonlyMap<string, string>,
  isOneExecution: boolean,
): readonly Finding[] {
  if (!isOneExecution) return []; // a visit that was begun again makes its calls again
  const findings: Finding[] = [];
  const planned = run.visits
    .flatMap(({ turns }) => turns)
    .flatMap((turn) => ("calls" in turn ? turn.calls : []));
  const isMade = new Set(planned.map(({ id }) => id));
  for (const { id, expect, orElse = expect } of planned) {
    const made = calls.filter((call) => call.id.split(".")[0] === id);
    const met = made.filter((call) => [expect, orElse].includes(outcomes.get(call.id) ?? "")).length;
    if (met === 0) findings.push(lost(`the call ${id} never came to ${expect}.`));
    if (met > 1) findings.push(doubled(`the call ${id} came to ${expect} ${met} times.`));
  }
  for (const { id } of calls) {
    if (!isMade.has(id.split(".")[0] ?? "")) findings.push(doubled(`the call ${id} is not planned.`));
  }
  return findings;
}

function onceEach(what: string, names: readonly string[]): readonly Finding[] {
  return compareLists(what, names, [...new Set(names)], "any order");
}

function idsOf(lines: readonly Json[]): readonly string[] {
  return lines.map(({ id }) => String(id));
}

function entryName({ type, id, visit, turn }: Json): string {
  return JSON.stringify([type, id, visit, turn]);
}

async function readConversations(dir: string) {
  const names = (await readdir(dir)).filter((name) => name.endsWith(".jsonl"));
  return Promise.all(names.map(async (name) => ({ name, lines: await jsonLines(join(dir, name)) })));
}

/** The whole lines of a log: what a crash tore is no record. */
export async function jsonLines(path: string): Promise<readonly Json[]> {
  const text = await readFile(path, "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line) as Json];
    } catch {
      return [];
    }
  });
}
