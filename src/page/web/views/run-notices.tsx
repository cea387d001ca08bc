import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { RunDescription, RunStanding } from "../../api-run.js";
import { ask } from "../ask.js";
import { type Drafts, useDrafts } from "../drafts.js";
import { runHref } from "../routes.js";
import { DoForm, Field, Untold } from "../ui/parts.js";
import { SafeText } from "../ui/texts.js";
import { useAnswer, useDoing } from "../use-asked.js";
import type { WatchedRun } from "../use-run.js";
import { visibleLine } from "../visible.js";
import { ago, duration } from "../words.js";
import { BelowLink } from "./below-link.js";
import { RaiseForm } from "./raise-form.js";
import { isOverPhase } from "../../../core/run/phase.js";
import { asksForBudget } from "../../../core/run/question.js";

interface NoticesProps {
  readonly watched: WatchedRun;
  readonly description: RunDescription;
  readonly now: number;
}

function NoWorker({ since, now }: { readonly since: string | undefined; readonly now: number }) {
  const session = useAnswer("session", {});
  return (
    <div class="note warn">
      <p>
        <strong>No worker is there.</strong> The run keeps its place and goes on when one comes
        {session.value !== undefined && (
          <>
            : <code>{session.value.startWorker}</code>
          </>
        )}
        .{since !== undefined && <Ticking> It waits since {ago(since, now)}.</Ticking>}
      </p>
    </div>
  );
}

/** What somebody has to know or to do, before all else. */
export function RunNotices({ watched, description, now }: NoticesProps) {
  const { row, polled, waitsForWorkerSince, failure } = description;
  const isOpen = !isOverPhase(row.phase);
  const standing = watched.standing.value;
  const drafts = useDrafts(watched.run);
  const open = isOpen ? openQuestion(watched.run, standing) : undefined;
  const form = { drafts, isPaused: row.paused, again: watched.again };
  return (
    <div aria-live="polite">
      {isOpen && !polled && <NoWorker since={waitsForWorkerSince} now={now} />}
      {polled && watched.standing.error !== undefined && (
        <Untold error={watched.standing.error} row={watched.description.value?.row} />
      )}
      {standing?.problem !== undefined && <div class="note bad">{visibleLine(standing.problem)}</div>}
      {isOpen && <Trouble description={description} now={now} />}
      {row.paused && isOpen && <Paused watched={watched} />}
      {isOpen && standing?.question !== undefined && (
        <Question watched={watched} standing={standing} form={form} />
      )}
      {isOpen && standing?.below !== undefined && <Below form={form} below={standing.below} />}
      {drafts.all.map(
        ({ to, text, isSent }) =>
          to !== open &&
          isSent !== true && <Untaken key={to} text={text} onDrop={() => drafts.type(to, "")} />,
      )}
      {row.phase === "failed" && <Failure watched={watched} failure={standing?.failure ?? failure} />}
    </div>
  );
}

/** Why nothing moves, where an attempt has failed. */
function Trouble({ description, now }: { readonly description: RunDescription; readonly now: number }) {
  const { pending, taskFailure } = description;
  const failed = pending.filter(({ lastFailure }) => lastFailure !== undefined);
  if (failed.length === 0 && taskFailure === undefined) return null;
  return (
    <div class="note warn">
      {taskFailure !== undefined && (
        <p>
          <strong>The run stands still: its workflow task fails</strong>, attempt {taskFailure.attempt}. It
          goes on as soon as a worker can do it, such as one of the build that it was with before. Where none
          can, terminate it in Temporal's Web UI; then Retry lets it go on from its files. What fails:{" "}
          {visibleLine(taskFailure.message)}
        </p>
      )}
      {failed.slice(0, 5).map(({ activity, attempt, maximumAttempts, lastFailure, nextTryAt }) => (
        <p key={activity}>
          <strong>{visibleLine(activity)}</strong>, attempt {attempt}
          {maximumAttempts !== undefined && ` of ${maximumAttempts}`}
          {nextTryAt !== undefined && Date.parse(nextTryAt) > now && (
            <Ticking>, next try in {waitOf(Math.ceil((Date.parse(nextTryAt) - now) / 1000))}</Ticking>
          )}
          . The one before failed: {visibleLine(`${lastFailure?.type ?? ""}: ${lastFailure?.message ?? ""}`)}
        </p>
      ))}
    </div>
  );
}

/** What changes with the clock alone: a screen reader says it where it is read, and does not call it out each time. */
function Ticking({ children }: { readonly children: ComponentChildren }) {
  return <span aria-live="off">{children}</span>;
}

/** It counts down in seconds, but for a wait of a day. */
function waitOf(seconds: number): string {
  return seconds < 600 ? `${seconds} s` : duration(seconds * 1_000);
}

function Paused({ watched }: { readonly watched: WatchedRun }) {
  const doing = useDoing();
  return (
    <div class="note warn">
      <DoForm
        doing={doing}
        button="Let it go on"
        onSubmit={() => ask("resume", { run: watched.run }).then(watched.again)}
      >
        <p>
          <strong>The run is paused.</strong> Its next model turn begins when it is let go on.
        </p>
      </DoForm>
    </div>
  );
}

function questionKey(run: string, { id }: { readonly id: string }): string {
  return `${run} ${id}`;
}

function openQuestion(run: string, standing: RunStanding | undefined): string | undefined {
  if (standing?.question !== undefined) return questionKey(run, standing.question);
  const asks = standing?.below?.asks;
  return asks && questionKey(asks.runId, asks);
}

/** What was typed for a question that is open no longer. */
function Untaken({ text, onDrop }: { readonly text: string; readonly onDrop: () => void }) {
  return (
    <div class="note bad">
      <Field
        label="What you have typed was not taken"
        hint="The question is open no longer: somebody else has answered it, or the run has ended."
      >
        {(attributes) => <textarea {...attributes} readOnly value={text} />}
      </Field>
      <button type="button" onClick={onDrop}>
        Discard it
      </button>
    </div>
  );
}

interface FormState {
  readonly drafts: Drafts;
  readonly isPaused: boolean;
  readonly again: () => void;
}

interface QuestionProps {
  readonly watched: WatchedRun;
  readonly standing: RunStanding;
  readonly form: FormState;
}

function Question({ watched, standing, form }: QuestionProps) {
  const { question } = standing;
  if (question === undefined) return null;
  const isBudget = asksForBudget(question);
  return (
    <Asking
      id="question"
      title={isBudget ? "The budget is used up" : "A question for you"}
      text={question.text}
      way={
        isBudget ? (
          <RaiseForm watched={watched} budget={standing.budget} />
        ) : (
          <AnswerForm key={question.id} run={watched.run} question={question} form={form} />
        )
      }
    />
  );
}

interface AskingProps {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  /** What stands above the text. */
  readonly children?: ComponentChildren;
  /** How it is answered. */
  readonly way: ComponentChildren;
}

/** What somebody is asked, and beside it how it is answered. */
function Asking({ id, title, text, children, way }: AskingProps) {
  return (
    <section class="note warn" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
      <div class="asking">
        <div>
          <SafeText text={text} form="markdown" />
        </div>
        {way}
      </div>
    </section>
  );
}

interface BelowProps {
  readonly form: FormState;
  readonly below: RunStanding["below"] & {};
}

/** What a run below is waited for, and what it asks: answered here it is answered there. */
function Below({ form, below: { asks, ...waited } }: BelowProps) {
  if (asks === undefined)
    return (
      <div class="note">
        <p>
          It waits for <BelowLink run={waited} />.
        </p>
      </div>
    );
  const isBudget = asksForBudget(asks);
  return (
    <Asking
      id="question-below"
      title={isBudget ? "The budget of a run below is used up" : "A question of a run below"}
      text={asks.text}
      way={
        isBudget ? (
          <p>
            <a href={runHref(asks.runId)}>Raise it there</a>.
          </p>
        ) : (
          <AnswerForm key={questionKey(asks.runId, asks)} run={asks.runId} question={asks} form={form} />
        )
      }
    >
      <p>
        <BelowLink run={asks} /> asks at {visibleLine(asks.nodeId)}.
      </p>
    </Asking>
  );
}

interface AnswerFormProps {
  readonly run: string;
  readonly question: { readonly id: string; readonly nodeId: string };
  readonly form: FormState;
}

/** What is typed survives until it is taken: a refusal keeps it, and so does an answer of somebody else's. */
function AnswerForm({ run, question, form: { drafts, isPaused, again } }: AnswerFormProps) {
  const [isSent, setSent] = useState(false);
  const doing = useDoing();
  const { nodeId, id } = question;
  const to = questionKey(run, question);
  const text = drafts.all.find((each) => each.to === to)?.text ?? "";
  const goesOn = isPaused ? "The run is paused, and takes it up when it is let go on." : "The run goes on.";
  if (isSent) return <p role="status">Your answer is taken. {goesOn}</p>;
  const send = async () => {
    await drafts.whileSent(to, () => ask("answer", { run, nodeId, question: id, text }));
    setSent(true);
    again();
  };
  return (
    <DoForm doing={doing} onSubmit={send} button="Answer" isReady={text.trim() !== ""}>
      <Field label="Your answer" hint="The run goes on with it at once. Ctrl+Enter sends it.">
        {(attributes) => (
          <textarea
            {...attributes}
            value={text}
            onInput={(event) => drafts.type(to, event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
                event.currentTarget.form?.requestSubmit();
            }}
          />
        )}
      </Field>
    </DoForm>
  );
}

interface FailureProps {
  readonly watched: WatchedRun;
  readonly failure: { readonly code: string; readonly message: string } | undefined;
}

function Failure({ watched, failure }: FailureProps) {
  const doing = useDoing();
  const [model, setModel] = useState("");
  const wanted = model.trim() === "" ? {} : { model: { name: model.trim() } };
  return (
    <section class="note bad" aria-labelledby="failure">
      <h2 id="failure">
        {failure?.code === "ENGINE_ABORTED" ? "The run was stopped" : "The run has failed"}
      </h2>
      {failure !== undefined && (
        <p>
          <code>{visibleLine(failure.code)}</code> {visibleLine(failure.message)}
        </p>
      )}
      <DoForm
        doing={doing}
        button="Retry"
        onSubmit={() => ask("retry", { run: watched.run, ...wanted }).then(watched.again)}
      >
        <p>
          <strong>Retry</strong> lets it go on where its state document stands
          {watched.standing.value !== undefined && `, at ${visibleLine(watched.standing.value.nodeId)}`}.
          Nothing that it has done is done again.
        </p>
        <details>
          <summary class="small">With another model</summary>
          <Field label="Model" hint="A name under models in the worker's settings.">
            {(attributes) => (
              <input {...attributes} value={model} onInput={(event) => setModel(event.currentTarget.value)} />
            )}
          </Field>
        </details>
      </DoForm>
      <p class="small">
        To go on from an earlier node, <a href={runHref(watched.run, "actions")}>fork the run</a>.
      </p>
    </section>
  );
}
