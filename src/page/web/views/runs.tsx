import { useEffect, useRef, useState } from "preact/hooks";
import type { RunRow, WaitingQuestion } from "../../api-run.js";
import { MAX_RUNS_LISTED, MAX_RUNS_PAGE, type RouteAnswer } from "../../api.js";
import { asksForBudget } from "../../../core/run/question.js";
import { shortRunId } from "../../../core/run/run-id.js";
import { ask } from "../ask.js";
import { NOTHING_LISTED, keyOf, listedAnew } from "../listed-runs.js";
import { type RunsFilter, runHref, runsHref } from "../routes.js";
import { Choice, Fault, Phase, Quiet, TextField } from "../ui/parts.js";
import { VirtualList } from "../ui/virtual-list.js";
import { useAnswer, useAsked, useNow } from "../use-asked.js";
import { useTitle } from "../use-title.js";
import { visibleLine } from "../visible.js";
import { ago } from "../words.js";

const EVERY_MS = 4_000;
const ROW_HEIGHT = 62;

const PHASES = [
  ["", "All"],
  ["waiting-user", "Waits for somebody"],
  ["running,idle", "Running"],
  ["failed", "Failed"],
  ["completed", "Completed"],
] as const;

const DAY = 86_400_000;
const SINCE = [
  ["", "Ever"],
  ["1", "The last day"],
  ["7", "The last week"],
  ["30", "The last 30 days"],
] as const;

export function RunsView({ filter }: { readonly filter: RunsFilter }) {
  const now = useNow();
  const narrowing = narrowingOf(filter);
  const questions = useAnswer("questions", narrowing, { everyMs: EVERY_MS });
  // What waits stands above the list: rows that were there before would jump away from under a pointer.
  const isTopKnown = questions.value !== undefined || questions.error !== undefined;
  useTitle("Runs");
  return (
    <>
      <div class="head">
        <h1>Runs</h1>
      </div>
      {questions.value !== undefined && <Waiting {...questions.value} filter={filter} now={now} />}
      <Filters filter={filter} />
      <Listing filter={filter} now={now} isTopKnown={isTopKnown} />
    </>
  );
}

interface WaitingProps extends RouteAnswer<"questions"> {
  readonly filter: RunsFilter;
  readonly now: number;
}

/** What waits for a person, on top of all. */
function Waiting({ questions, more, filter, now }: WaitingProps) {
  if (questions.length === 0) return null;
  return (
    <section aria-labelledby="waiting">
      <h2 id="waiting">
        {questions.length}
        {more ? " and more" : ""} {questions.length === 1 ? "waits" : "wait"} for you
      </h2>
      <ul class="waiting">
        {questions.slice(0, 12).map((question) => (
          <li key={`${question.runId} ${question.id}`}>
            <QuestionCard question={question} now={now} />
          </li>
        ))}
      </ul>
      {(questions.length > 12 || more) && filter.phase !== "waiting-user" && (
        <p>
          <a href={runsHref({ ...filter, phase: "waiting-user" })}>All that wait</a>
        </p>
      )}
    </section>
  );
}

function QuestionCard({ question, now }: { readonly question: WaitingQuestion; readonly now: number }) {
  const { runId, nodeId, text, code, packageId = "", project = "", since } = question;
  return (
    <a href={runHref(runId)}>
      <span class="small muted">
        {visibleLine(project)} {project !== "" && "·"} {visibleLine(nodeId)} ·{" "}
        <time dateTime={since}>{ago(since, now)}</time>
      </span>
      <span class="ask">{visibleLine(text) || "It asks something."}</span>
      <span class="small muted">
        {asksForBudget({ code }) ? "Its budget is used up" : visibleLine(packageId)}
      </span>
    </a>
  );
}

function Filters({ filter }: { readonly filter: RunsFilter }) {
  const [typed, setTyped] = useState({ package: filter.package, project: filter.project });
  // Another address fills the fields anew. They stay where they are: somebody may stand in one, or type in the next one already.
  useEffect(() => setTyped((before) => ({ ...before, package: filter.package })), [filter.package]);
  useEffect(() => setTyped((before) => ({ ...before, project: filter.project })), [filter.project]);
  const go = (change: Partial<RunsFilter>) => {
    location.hash = runsHref({ ...filter, ...typed, ...change });
  };
  return (
    <form
      role="search"
      aria-label="Filter the runs"
      class="fields"
      onSubmit={(event) => {
        event.preventDefault();
        go({});
      }}
    >
      <Choice label="Phase" value={filter.phase} options={PHASES} onValue={(phase) => go({ phase })} />
      <Choice label="Begun" value={filter.since} options={SINCE} onValue={(since) => go({ since })} />
      <TextField
        label="Package begins with"
        value={typed.package}
        onValue={(text) => setTyped({ ...typed, package: text })}
        onLeave={() => go({})}
      />
      <TextField
        label="Project"
        value={typed.project}
        onValue={(project) => setTyped({ ...typed, project })}
        onLeave={() => go({})}
      />
      <button type="submit" class="hidden-label">
        Filter
      </button>
    </form>
  );
}

interface ListingProps {
  readonly filter: RunsFilter;
  readonly now: number;
  readonly isTopKnown: boolean;
}

/** The newest runs and those that are seen are asked for again and again; older ones when they are scrolled to. */
function Listing({ filter, now, isTopKnown }: ListingProps) {
  const key = JSON.stringify(filter);
  const [wanted, setWanted] = useState({ key, runs: 0 });
  const seen = useRef(0);
  const listed = useRef({ key, value: NOTHING_LISTED });
  const { value, error } = useAsked(
    `runs ${key}`,
    async (signal) => {
      const before = listed.current.key === key ? listed.current.value : NOTHING_LISTED;
      const needs = { wanted: wanted.key === key ? wanted.runs : 0, seen: seen.current };
      const now = await listedAnew(before, { ...needs, ask: (upTo) => askRuns(filter, upTo, signal) });
      listed.current = { key, value: now };
      return now;
    },
    EVERY_MS,
    wanted.runs,
  );
  const shown = isTopKnown ? value : undefined;
  const isFull = shown !== undefined && shown.runs.length >= MAX_RUNS_LISTED;
  return (
    <section aria-label="All runs">
      <Fault error={error} />
      {shown === undefined && error === undefined && <Quiet>Asking Temporal …</Quiet>}
      {shown?.runs.length === 0 && <NoRuns isFiltered={Object.values(filter).some((word) => word !== "")} />}
      {shown !== undefined && shown.runs.length > 0 && (
        <>
          <VirtualList
            label="Runs, newest first"
            items={shown.runs}
            rowHeight={ROW_HEIGHT}
            keyOf={keyOf}
            onSeen={(first) => (seen.current = first)}
            onEnd={
              shown.more && !isFull
                ? () => setWanted({ key, runs: shown.runs.length + MAX_RUNS_PAGE })
                : undefined
            }
          >
            {(run) => <Row run={run} now={now} />}
          </VirtualList>
          <p class="small muted" role="status">
            {shown.runs.length} {shown.more ? wordsOfMore(isFull) : shown.runs.length === 1 ? "run" : "runs"}
          </p>
        </>
      )}
    </section>
  );
}

function wordsOfMore(isFull: boolean): string {
  return isFull ? "newest runs; filter for older ones" : "newest runs; scroll for more";
}

function askRuns(
  filter: RunsFilter,
  before: string | undefined,
  signal: AbortSignal,
): Promise<RouteAnswer<"runs">> {
  const days = Number(filter.since);
  const request = {
    ...narrowingOf(filter),
    ...(filter.phase === "" ? {} : { phase: filter.phase }),
    ...(days > 0 ? { since: new Date(Date.now() - days * DAY).toISOString() } : {}),
    ...(before === undefined ? {} : { before }),
    limit: MAX_RUNS_PAGE,
  };
  return ask("runs", request, signal);
}

function narrowingOf(filter: RunsFilter) {
  return {
    ...(filter.package === "" ? {} : { package: filter.package }),
    ...(filter.project === "" ? {} : { project: filter.project }),
  };
}

function Row({ run, now }: { readonly run: RunRow; readonly now: number }) {
  const {
    runId,
    phase,
    paused,
    packageId = "",
    workflowRef = "",
    project = "",
    nodeId = "",
    question = "",
    since,
    startedAt,
  } = run;
  const what = visibleLine(workflowRef || packageId || run.workflowId);
  return (
    <a class="run-row" href={runHref(runId)}>
      <span class="line">
        <Phase phase={phase} isPaused={paused} />
        <strong>{what}</strong>
        <span class="muted">{visibleLine(project)}</span>
        <time dateTime={since ?? startedAt}>{ago(since ?? startedAt, now)}</time>
      </span>
      <span class="line small muted">
        <span class="mono keep">{shortRunId(runId)}</span>
        <span>{visibleLine(question === "" ? nodeId : `${nodeId}: ${question}`)}</span>
      </span>
    </a>
  );
}

function NoRuns({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Quiet>
        No run fits. <a href={runsHref()}>Show all</a>
      </Quiet>
    );
  return (
    <Quiet>
      There are no runs yet. Start one from a <a href="#/packages">package</a>, or with{" "}
      <code>interlock demo</code>.
    </Quiet>
  );
}
