import { useRef, useState } from "preact/hooks";
import type { Bounded } from "../../../contract/bounded.js";
import type { ConversationCall, ConversationEntry, ConversationPage } from "../../api-visit.js";
import { ask } from "../ask.js";
import { Fault, NotYet, Quiet } from "../ui/parts.js";
import { SafeText, ShownValue } from "../ui/texts.js";
import { useAnswer } from "../use-asked.js";
import type { LiveAnswer, WatchedRun } from "../use-run.js";
import { visibleLine, visibleText } from "../visible.js";
import { counted } from "../../../core/text.js";
import { bytes, duration } from "../words.js";

/** Entries in the page at once: a conversation may have thousands. */
const PAGE = 25;

interface ConversationViewProps {
  readonly watched: WatchedRun;
  readonly name: string;
  /** More may come. */
  readonly isNewest: boolean;
  readonly now: number;
}

/** A conversation, a page of it at a time, its end first. */
export function ConversationView({ watched, name, isNewest, now }: ConversationViewProps) {
  const { run, live } = watched;
  const [from, setFrom] = useState<number>();
  const round = isNewest ? watched.round : 0;
  const page = { run, name, from: from ?? -PAGE, limit: PAGE, reasoning: true };
  const answered = useAnswer("conversation", page, { asOf: round });
  const { error } = answered;
  // A page stays until the next one is there: who turns them by keyboard stands at the buttons between them.
  const before = useRef<ConversationPage | undefined>(undefined);
  const value = answered.value ?? before.current;
  before.current = value;
  if (value === undefined) return <NotYet asks="the run's store" error={error} />;
  const { entries, total } = value;
  const isEnd = value.from + entries.length >= total;
  return (
    <>
      {total > entries.length && (
        <nav class="row" aria-label="Pages of the conversation">
          <button
            type="button"
            disabled={value.from === 0}
            onClick={() => setFrom(Math.max(0, value.from - PAGE))}
          >
            Earlier
          </button>
          <span class="muted small" role="status">
            {value.from + 1} to {value.from + entries.length} of {total}
          </span>
          <button
            type="button"
            disabled={isEnd}
            onClick={() => setFrom(value.from + 2 * PAGE >= total ? undefined : value.from + PAGE)}
          >
            Later
          </button>
        </nav>
      )}
      <ol class="talk">
        {entries.map((entry, index) => (
          <Entry key={value.from + index} run={run} name={name} entry={entry} at={value.from + index} />
        ))}
        {isNewest && isEnd && live !== undefined && <Live live={live} now={now} />}
      </ol>
      {total === 0 && live === undefined && <Quiet>Nothing was said yet.</Quiet>}
      <Fault error={error} />
    </>
  );
}

interface EntryProps {
  readonly run: string;
  readonly name: string;
  readonly entry: ConversationEntry;
  /** Its place in the conversation. */
  readonly at: number;
}

/** A text that came cut is longer where its entry is asked for alone. */
async function longerText({ run, name, at }: EntryProps): Promise<Bounded> {
  const { entries } = await ask("conversation", { run, name, from: at, limit: 1 });
  const [entry] = entries;
  if (entry !== undefined && "text" in entry) return entry.text;
  return { text: "", bytes: 0, isCut: false };
}

function Entry(props: EntryProps) {
  const { entry } = props;
  const more = () => longerText(props);
  switch (entry.type) {
    case "begin":
      return <li class="muted small">Visit {entry.visit} begins.</li>;
    case "fold":
      return (
        <li class="muted small">
          The conversation had grown too long: from here on the model does not see the results of{" "}
          {counted(entry.calls, "call")}.
        </li>
      );
    case "user":
      return (
        <li class="turn user">
          <header>
            <strong>{entry.by === undefined ? "User" : visibleLine(entry.by)}</strong>
          </header>
          <SafeText text={entry.text} form="markdown" more={more} />
        </li>
      );
    case "correction":
      return (
        <li class="turn">
          <header>
            <strong>Engine</strong> tells the model
          </header>
          <SafeText text={entry.text} more={more} />
        </li>
      );
    case "assistant":
      return <AssistantTurn {...props} entry={entry} />;
  }
}

interface AssistantTurnProps extends EntryProps {
  readonly entry: Extract<ConversationEntry, { type: "assistant" }>;
}

function AssistantTurn(props: AssistantTurnProps) {
  const { run, name, entry } = props;
  const { visit, turn, model, text, calls, reasoning } = entry;
  return (
    <li class="turn">
      <header>
        <strong>{visibleLine(model)}</strong> turn {visit}.{turn}
      </header>
      {reasoning !== undefined && reasoning.text !== "" && (
        <details>
          <summary class="small muted">What it thought</summary>
          <SafeText text={reasoning} />
        </details>
      )}
      {text.text !== "" && <SafeText text={text} form="markdown" more={() => longerText(props)} />}
      {calls.map((call) => (
        <Call key={call.id} run={run} name={name} call={call} />
      ))}
    </li>
  );
}

/** A call's arguments and result are asked for when it is opened. */
function Call({
  run,
  name,
  call,
}: {
  readonly run: string;
  readonly name: string;
  readonly call: ConversationCall;
}) {
  const [isOpen, setOpen] = useState(false);
  const { outcome } = call;
  const kind = outcome === undefined ? "open" : outcome === "ok" ? "" : "refused";
  return (
    <details class="call" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <code>{visibleLine(call.name)}</code> {visibleLine(call.summary)}{" "}
        <span class={`outcome ${kind}`}>{visibleLine(outcome ?? "not recorded")}</span>
      </summary>
      {isOpen && <CallDetails run={run} name={name} id={call.id} />}
    </details>
  );
}

function CallDetails({
  run,
  name,
  id,
}: {
  readonly run: string;
  readonly name: string;
  readonly id: string;
}) {
  const { value, error } = useAnswer("call", { run, name, id });
  if (value === undefined)
    return error === undefined ? <p class="muted small">…</p> : <Fault error={error} />;
  return (
    <>
      <h3>Arguments</h3>
      <ShownValue shown={value.arguments} />
      <h3>Result</h3>
      {value.result === undefined ? (
        <p class="muted">None is recorded.</p>
      ) : (
        <ShownValue shown={value.result} />
      )}
    </>
  );
}

/** What a model is saying now. */
function Live({ live, now }: { readonly live: LiveAnswer; readonly now: number }) {
  const since = now - Date.parse(live.startedAt);
  return (
    <li class="turn live" aria-label="The answer under way">
      <header>
        <strong>{visibleLine(live.model)}</strong> turn {live.visit}.{live.turn}, answers now
        {since > 1_000 && ` for ${duration(since)}`}
        {live.thinking > 0 && `, ${live.thinking.toLocaleString()} characters thought`}
      </header>
      <p class="text">{visibleText(live.text)}</p>
      {live.calls.map((call, index) => (
        <p key={index} class="small muted">
          <code>{visibleLine(call.name)}</code> {bytes(call.bytes)}
        </p>
      ))}
    </li>
  );
}
