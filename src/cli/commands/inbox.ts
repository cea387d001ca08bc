import type { InterlockClient, OpenQuestion, QuestionEvent, QuestionFilter } from "../../client/client.js";
import type { Config } from "../../config.js";
import { defined } from "../../core/defined.js";
import { directoryName, firstLine } from "../../core/run/listed-texts.js";
import { asksForBudget } from "../../core/run/question.js";
import { excerpt } from "../../core/text.js";
import { type RunMetadata, workflowIdOfRun } from "../../store/runs/run-metadata.js";
import type { Store } from "../../store/store.js";
import { desktopNotice, expectTerminal } from "../terminal/desktop-notice.js";
import { isNobodyThere, lookAround, noStoreWords } from "../session/environment.js";
import { isTemporalThere } from "../session/temporal-there.js";
import { unknownProject } from "../session/find-project.js";
import { chooseStore, knownStores } from "../session/known-stores.js";
import {
  EXIT,
  type ExitCode,
  UsageError,
  outputWidth,
  print,
  printBlock,
  printJson,
  printNote,
} from "../terminal/output.js";
import { filterOf } from "../report/run-filter.js";
import { shortName } from "../report/run-rows.js";
import { type Column, tableLines } from "../terminal/table.js";
import { timeOf } from "../terminal/time-of-day.js";

interface InboxOptions {
  readonly watch?: boolean;
  readonly project?: string;
  readonly store?: string;
  readonly json?: boolean;
  /** With `watch`: a notice on the desktop for each new question. */
  readonly notify?: boolean;
}

/** `interlock inbox`: every question that waits, in all stores, the oldest first. */
export async function inboxCommand(options: InboxOptions): Promise<ExitCode> {
  if (options.notify === true && options.watch !== true) {
    throw new UsageError("--notify says when a question comes. Add --watch.");
  }
  if (options.notify === true) expectTerminal();
  const { config, store } = await lookAround();
  const project = options.project;
  const filter = await filterOf(defined({ project }), new Date());
  if (await isTemporalThere(config, store)) return fromTemporal({ config, store }, options, filter);
  if (options.store !== undefined || options.watch === true) {
    throw new UsageError("--store and --watch ask Temporal. Set TEMPORAL_ADDRESS, or start: interlock dev");
  }
  if (isNobodyThere(config, store)) printNote(noStoreWords(config));
  const { runs, damaged } = (await store?.runs.surveyRuns()) ?? { runs: [], damaged: [] };
  const questions = store === undefined ? [] : await storedQuestions(store, runs, filter);
  for (const { error } of damaged) printNote(error.message);
  if (questions.length > 0) {
    printNote("No Temporal is running: this is what the store knows. An answer starts it by itself.");
  }
  // Whether none waits, an index that cannot be read does not say.
  if (questions.length > 0 || damaged.length === 0 || options.json === true) show(questions, options);
  if (questions.length === 0) await noteUnknown(undefined, store, project);
  return damaged.length === 0 ? EXIT.done : EXIT.failed;
}

async function noteUnknown(
  client: InterlockClient | undefined,
  store: Store | undefined,
  project: string | undefined,
): Promise<void> {
  const unknown = await unknownProject(client, store, project);
  if (unknown !== undefined) printNote(unknown);
}

async function fromTemporal(
  place: { readonly config: Config; readonly store: Store | undefined },
  options: InboxOptions,
  wanted: QuestionFilter,
): Promise<ExitCode> {
  const { withTemporal } = await import("../session/temporal-session.js");
  return withTemporal(place, async ({ session: { client }, store, signal }) => {
    const chosen =
      options.store === undefined ? undefined : chooseStore(await knownStores(client, store), options.store);
    const filter = { ...wanted, ...(chosen === undefined ? {} : { taskQueues: [chosen.taskQueue] }) };
    if (options.watch === true) {
      await noteUnknown(client, store, options.project); // nothing would ever come
      await watch(client, filter, options, signal);
      return EXIT.done;
    }
    const isWhole = options.json === true;
    const questions = await (isWhole ? client.openQuestions(filter) : client.questionLines(filter));
    show(questions, options);
    if (questions.length === 0) await noteUnknown(client, store, options.project);
    return EXIT.done;
  });
}

async function watch(
  client: InterlockClient,
  filter: QuestionFilter,
  { json = false, notify = false }: InboxOptions,
  signal: AbortSignal,
): Promise<void> {
  if (!json) printNote("Waiting for questions. Ctrl-C ends it.");
  for await (const event of client.questionEvents(filter, signal)) {
    if (signal.aborted) return;
    if (notify && event.kind === "asked") {
      desktopNotice(`${named(event.question)} asks: ${firstLine(event.question.text)}`);
    }
    if (!json) printEvent(event);
    else {
      const { kind, question, ...more } = event;
      printJson({ event: kind, ...question, ...more });
    }
  }
}

/** A new question with its text, and one line for what became of it. */
function printEvent(event: QuestionEvent): void {
  const { kind, question } = event;
  const { project, nodeId, id } = question;
  const where = [named(question), project, nodeId, id].filter((part) => part !== undefined).join("  ");
  if (kind !== "asked") {
    const by = kind === "answered" && event.by !== undefined ? ` by ${event.by}` : "";
    print(`${kind.padEnd(8)}  ${where}${by}`);
    return;
  }
  print(`${kind.padEnd(8)}  ${where}`);
  printBlock(question.text, "  │ ");
}

function show(questions: readonly OpenQuestion[], { json = false }: InboxOptions): void {
  if (json) {
    printJson(questions);
    return;
  }
  if (questions.length === 0) {
    print("No questions wait.");
    return;
  }
  const width = outputWidth();
  const now = new Date();
  const rows = questions.map((question) => [
    width === undefined ? question.workflowId.replace(/^run-/, "") : named(question),
    question.project ?? question.projectId ?? "",
    question.nodeId,
    question.id ?? "",
    firstLine(question.text),
    timeOf(question.since, now),
  ]);
  for (const line of tableLines(COLUMNS, rows, width)) print(line);
  const ofBudgets = questions.filter(asksForBudget).length;
  if (ofBudgets < questions.length) printNote("Answer one with: interlock answer <run>");
  if (ofBudgets > 0) {
    printNote("Raise a budget with: interlock budget <run> --add-turns|--add-tokens|--add-cost <n>");
  }
}

const COLUMNS: readonly Column[] = [
  { title: "RUN", max: 120 },
  { title: "PROJECT", max: 60, gives: true },
  { title: "NODE", max: 60, gives: true },
  { title: "ID", max: 20 },
  { title: "QUESTION", max: 120, gives: true },
  { title: "SINCE", max: 20 },
];

/** A beginning of its id names a run. */
function named(question: OpenQuestion): string {
  return excerpt(shortName(question), 120);
}

/** What waits as the store at hand says, where there is no Temporal. */
async function storedQuestions(
  store: Store,
  runs: readonly RunMetadata[],
  filter: QuestionFilter,
): Promise<readonly OpenQuestion[]> {
  const found: OpenQuestion[] = [];
  for (const run of runs) {
    if (run.phase !== "waiting-user") continue;
    const root = await store.runs.projectRoot(run.projectId);
    const project = root.ok ? directoryName(root.value) : undefined;
    if (filter.project !== undefined && ![run.projectId, project].includes(filter.project)) continue;
    const files = await store.runs.openFiles(run.projectId, run.runId);
    const status = files.ok ? await files.value.status.read().catch(() => undefined) : undefined;
    const question = status?.question;
    found.push({
      runId: run.runId,
      workflowId: workflowIdOfRun(run),
      nodeId: question?.nodeId ?? "",
      text: question?.text ?? "",
      isWhole: question !== undefined,
      packageId: run.packageId,
      projectId: run.projectId,
      ...defined({ code: question?.code, project }),
      since: run.lastUpdatedAt,
      taskQueue: store.taskQueue,
    });
  }
  return found.sort((a, b) => a.since.localeCompare(b.since));
}
