import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { RunDescription, RunStanding } from "../../api-run.js";
import { ask } from "../ask.js";
import { runHref } from "../routes.js";
import { DoForm, Fault, Field } from "../ui/parts.js";
import { SafeText } from "../ui/texts.js";
import { useDoing } from "../use-asked.js";
import type { WatchedRun } from "../use-run.js";
import { visibleLine } from "../visible.js";
import { ago } from "../words.js";
import { BelowLink } from "./below-link.js";
import { RaiseForm } from "./raise-form.js";
import { isOverPhase } from "../../../core/run/phase.js";

interface NoticesProps {
  readonly watched: WatchedRun;
  readonly description: RunDescription;
  readonly now: number;
}

/** What somebody has to know or to do, before all else. */
export function RunNotices({ watched, description, now }: NoticesProps) {
  const { row, polled, waitsForWorkerSince, failure } = description;
  const isOpen = !isOverPhase(row.phase);
  const standing = watched.standing.value;
  return (
    <div aria-live="polite">
      {isOpen && !polled && (
        <div class="note warn">
          <p>
            <strong>No worker is there.</strong> The run keeps its place and goes on when one comes:{" "}
            <code>interlock dev</code> or <code>interlock worker</code>.
            {waitsForWorkerSince !== undefined && ` It waits since ${ago(waitsForWorkerSince, now)}.`}
          </p>
        </div>
      )}
      {polled && watched.standing.error !== undefined && <Fault error={watched.standing.error} />}
      {standing?.problem !== undefined && <div class="note bad">{visibleLine(standing.problem)}</div>}
      {isOpen && <Trouble description={description} now={now} />}
      {row.paused && isOpen && <Paused watched={watched} />}
      {isOpen && standing?.question !== undefined && (
        <Question key={standing.question.id} watched={watched} standing={standing} />
      )}
      {isOpen && standing?.below !== undefined && <Below watched={watched} below={standing.below} />}
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
          {nextTryAt !== undefined &&
            Date.parse(nextTryAt) > now &&
            `, next try in ${Math.ceil((Date.parse(nextTryAt) - now) / 1000)} s`}
          . The one before failed: {visibleLine(`${lastFailure?.type ?? ""}: ${lastFailure?.message ?? ""}`)}
        </p>
      ))}
    </div>
  );
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

function Question({ watched, standing }: { readonly watched: WatchedRun; readonly standing: RunStanding }) {
  const { question } = standing;
  if (question === undefined) return null;
  const isBudget = question.code === "BUDGET_EXCEEDED";
  return (
    <Asking
      id="question"
      title={isBudget ? "The budget is used up" : "A question for you"}
      text={question.text}
      way={
        isBudget ? (
          <RaiseForm watched={watched} budget={standing.budget} />
        ) : (
          <AnswerForm run={watched.run} question={question} again={watched.again} />
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
  readonly watched: WatchedRun;
  readonly below: RunStanding["below"] & {};
}

/** What a run below is waited for, and what it asks: answered here it is answered there. */
function Below({ watched, below: { asks, ...waited } }: BelowProps) {
  if (asks === undefined)
    return (
      <div class="note">
        <p>
          It waits for <BelowLink run={waited} />.
        </p>
      </div>
    );
  const isBudget = asks.code === "BUDGET_EXCEEDED";
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
          <AnswerForm
            key={`${asks.runId} ${asks.id}`}
            run={asks.runId}
            question={asks}
            again={watched.again}
          />
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
  readonly again: () => void;
}

/** What is typed survives until it is taken: a refusal keeps it. */
function AnswerForm({ run, question, again }: AnswerFormProps) {
  const [text, setText] = useState("");
  const [isSent, setSent] = useState(false);
  const doing = useDoing();
  const { nodeId, id } = question;
  if (isSent) return <p role="status">Your answer is taken. The run goes on.</p>;
  const send = async () => {
    await ask("answer", { run, nodeId, question: id, text });
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
            onInput={(event) => setText(event.currentTarget.value)}
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
