import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { RunRow } from "../../api-run.js";
import type { PageError } from "../ask.js";
import type { Doing } from "../use-asked.js";
import { visibleLine } from "../visible.js";

/** Small parts that every view is made of. */

const PHASE_WORDS: Readonly<Record<string, string>> = {
  idle: "not begun",
  running: "running",
  "waiting-user": "waits for you",
  completed: "completed",
  failed: "failed",
};

export function Phase({ phase, isPaused = false }: { readonly phase: string; readonly isPaused?: boolean }) {
  const word = PHASE_WORDS[phase] ?? phase;
  return <span class={`phase ${isPaused ? "idle" : phase}`}>{isPaused ? `paused, ${word}` : word}</span>;
}

/** What went wrong, and what may help. */
export function Fault({ error }: { readonly error: PageError | undefined }) {
  if (error === undefined) return null;
  return (
    <div class="note bad" role="alert">
      <p>
        {visibleLine(error.message)}{" "}
        {error.code === "NO_SESSION" && "Open the link that stands last where that program was started."}
      </p>
    </div>
  );
}

interface UntoldProps {
  readonly error: PageError | undefined;
  /** As Temporal knows the run. */
  readonly row: RunRow | undefined;
}

/** Why a run's store does not tell of it. One that was never opened is none that is missing. */
export function Untold({ error, row }: UntoldProps) {
  if (error?.code !== "E_RUN_NOT_FOUND") return <Fault error={error} />;
  const wasOpened = row !== undefined && (row.phase === "completed" || (row.nodeId ?? "") !== "");
  if (!wasOpened) return <Quiet>The run has not been opened: there is nothing of it yet.</Quiet>;
  return (
    <div class="note bad">
      <p>
        The run's store has nothing of it, though it was opened: its files were lost or removed, or another
        store has its queue now. A backup brings them back.
      </p>
    </div>
  );
}

interface NotYetProps {
  /** Whoever is asked. */
  readonly asks: "the run's store" | "the store" | "Temporal";
  readonly error: PageError | undefined;
}

/** What stands where nobody has answered yet: who is asked, or why there is no answer. */
export function NotYet({ asks, error }: NotYetProps) {
  return error === undefined ? <Quiet>{`Asking ${asks} …`}</Quiet> : <Fault error={error} />;
}

/** The same where a run's store is asked that may have nothing of the run. */
export function Unanswered({ error, row }: UntoldProps) {
  return error === undefined ? (
    <NotYet asks="the run's store" error={error} />
  ) : (
    <Untold error={error} row={row} />
  );
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly children: (attributes: {
    readonly id: string;
    readonly "aria-describedby"?: string;
  }) => ComponentChildren;
}

/** A named field, with what is to be known of it. */
export function Field({ label, hint, children }: FieldProps) {
  const id = useId();
  const described = hint === undefined ? {} : { "aria-describedby": `${id}-hint` };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, ...described })}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly type?: "text" | "number";
  /** Called when the field is left with something new in it. */
  readonly onLeave?: () => void;
}

export function TextField({ label, hint, value, onValue, type = "text", onLeave }: TextFieldProps) {
  return (
    <Field label={label} hint={hint}>
      {(attributes) => (
        <input
          {...attributes}
          type={type}
          value={value}
          autocomplete="off"
          list={undefined}
          {...(type === "number" ? { min: 0, step: "any", inputMode: "decimal" as const } : {})}
          onInput={(event) => onValue(event.currentTarget.value)}
          onChange={onLeave}
        />
      )}
    </Field>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onValue: (value: string) => void;
}

export function Choice({ label, hint, value, options, onValue }: ChoiceProps) {
  // An address may name what is not offered: it is what the list goes by.
  const isOffered = options.some(([option]) => option === value);
  return (
    <Field label={label} hint={hint}>
      {(attributes) => (
        <select {...attributes} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
          {!isOffered && <option value={value}>{visibleLine(value)}</option>}
          {options.map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface SwitchProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly (readonly [value: T, text: string])[];
  readonly onValue: (value: T) => void;
}

/** Buttons of which one is pressed. */
export function Switch<T extends string>({ label, value, options, onValue }: SwitchProps<T>) {
  return (
    <div class="row" role="group" aria-label={label}>
      {options.map(([option, text]) => (
        <button
          key={option}
          type="button"
          class={option === value ? "main" : ""}
          aria-pressed={option === value}
          onClick={() => onValue(option)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

interface TickProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly onToggle: (isOn: boolean) => void;
}

export function Tick({ label, isOn, onToggle }: TickProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={isOn} onChange={(event) => onToggle(event.currentTarget.checked)} />
      {label}
    </label>
  );
}

/** Of a field that it refuses, a browser says nothing where that is folded away. */
function unfold({ target }: Event): void {
  if (target instanceof Element) target.closest("details")?.setAttribute("open", "");
}

function focusContent(): void {
  document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
}

interface DoFormProps {
  readonly doing: Doing;
  readonly onSubmit: () => Promise<unknown>;
  readonly button: string;
  readonly isDangerous?: boolean;
  readonly isReady?: boolean;
  readonly children: ComponentChildren;
}

/** A form that says what it will do, does it once, and says why it was refused. */
export function DoForm({
  doing,
  onSubmit,
  button,
  isDangerous = false,
  isReady = true,
  children,
}: DoFormProps) {
  const isHeld = doing.isBusy || !isReady;
  const place = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    const form = place.current;
    return () => {
      // Who stands in a form that goes would be at the top of the page again.
      if (form?.contains(document.activeElement) === true) focusContent();
    };
  }, []);
  return (
    <form
      ref={place}
      onInvalidCapture={unfold}
      onSubmit={(event) => {
        event.preventDefault();
        if (!isHeld) void doing.run(onSubmit); // a key may ask for it past the button
      }}
    >
      {children}
      <Fault error={doing.error} />
      <button
        type="submit"
        class={isDangerous ? "danger" : "main"}
        disabled={!isReady && !doing.isBusy}
        aria-disabled={isHeld} // one that is disabled meanwhile would lose the focus
      >
        {doing.isBusy ? "…" : button}
      </button>
    </form>
  );
}

/** A form that is opened when it is wanted. */
export function Action(props: {
  readonly title: string;
  readonly what: string;
  readonly children: ComponentChildren;
}) {
  return (
    <details class="action">
      <summary>
        {props.title}
        <span>{props.what}</span>
      </summary>
      {props.children}
    </details>
  );
}

/** Names and values side by side. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Quiet({ children }: { readonly children: ComponentChildren }) {
  return <p class="quiet">{children}</p>;
}
