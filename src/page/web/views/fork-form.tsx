import { useState } from "preact/hooks";
import type { JsonObject } from "../../../core/json.js";
import type { ForkPoint } from "../../api.js";
import { ask } from "../ask.js";
import { leadToRun } from "../lead-to-run.js";
import { Choice, DoForm, Field, NotYet, Quiet, Tick } from "../ui/parts.js";
import { useAnswer, useDoing, useOnceIds } from "../use-asked.js";
import type { WatchedRun } from "../use-run.js";
import { visibleLine } from "../visible.js";

/** A fork from the end of a visit, with variables changed by hand. */
export function ForkForm({ watched }: { readonly watched: WatchedRun }) {
  const [visit, setVisit] = useState(0);
  const graph = watched.graph.value?.graph;
  if (graph === undefined || graph === null)
    return <Quiet>It is offered when the run's store answers.</Quiet>;
  const ends = graph.visits.filter(({ endedAt }) => endedAt !== undefined);
  const options = [
    ["0", "At its beginning"] as const,
    ...ends.map(({ visit: number, nodeId, next = "" }) => {
      return [
        String(number),
        visibleLine(`After visit ${number} of ${nodeId}${next === "" ? "" : `, at ${next}`}`),
      ] as const;
    }),
  ];
  return (
    <div class="action-body">
      <Choice
        label="From where"
        value={String(visit)}
        options={options}
        onValue={(value) => setVisit(Number(value))}
      />
      <ForkPointView key={visit} watched={watched} visit={visit} />
    </div>
  );
}

function ForkPointView({ watched, visit }: { readonly watched: WatchedRun; readonly visit: number }) {
  const { run } = watched;
  const { value, error } = useAnswer("forkPoint", { run, visit });
  if (value === undefined) return <NotYet asks="the run's store" error={error} />;
  return <ForkFrom run={run} point={value} />;
}

function ForkFrom({ run, point }: { readonly run: string; readonly point: ForkPoint }) {
  const before = JSON.stringify(point.variables, null, 2);
  const [text, setText] = useState(before);
  const [allowMissing, setAllowMissing] = useState(false);
  const ids = useOnceIds();
  const doing = useDoing();
  const changed = changesIn(point.variables, text);
  const others = point.files.filter(({ status }) => status !== "same");
  const send = async () => {
    const set = typeof changed === "string" ? {} : changed;
    const sent = {
      run,
      visit: point.visit,
      ...(Object.keys(set).length === 0 ? {} : { set }),
      ...(allowMissing ? { allowMissing } : {}),
    };
    await leadToRun(ask("fork", { ...sent, newRunId: ids.of(sent) }));
  };
  return (
    <DoForm doing={doing} button="Fork the run" isReady={typeof changed !== "string"} onSubmit={send}>
      <p>
        A new run begins at <strong>{visibleLine(point.nodeId)}</strong>, in the project{" "}
        <span class="mono small">{visibleLine(point.projectRoot)}</span>. This one is not touched. Files in
        the project stay as they are.
      </p>
      {others.length > 0 && (
        <div class="note warn">
          <p>Not all files are as they were then:</p>
          <ul>
            {others.slice(0, 20).map(({ path, status }) => (
              <li key={path}>
                <code>{visibleLine(path)}</code> {FILE_WORDS[status] ?? visibleLine(status)}
              </li>
            ))}
          </ul>
          {others.some(({ status }) => status === "lost") && (
            <Tick label="Begin without those that are lost" isOn={allowMissing} onToggle={setAllowMissing} />
          )}
        </div>
      )}
      <Field
        label="Variables it begins with"
        hint={typeof changed === "string" ? changed : changesInWords(changed)}
      >
        {(attributes) => (
          <textarea
            {...attributes}
            class="code"
            rows={Math.min(16, before.split("\n").length + 1)}
            spellcheck={false}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
      </Field>
    </DoForm>
  );
}

const FILE_WORDS: Readonly<Record<string, string>> = {
  differs: "differs now",
  missing: "is missing",
  lost: "is missing, and its content is no longer kept",
};

/** What was changed by hand; a sentence where it is nothing that can be sent. */
function changesIn(before: JsonObject, text: string): JsonObject | string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return `This is no JSON: ${error instanceof Error ? error.message : ""}`;
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    return "Variables are a JSON object.";
  const after = parsed as JsonObject; // JSON.parse returns JSON
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  if (removed.length > 0)
    return `A variable cannot be taken away: ${removed.join(", ")}. Set it to null instead.`;
  return Object.fromEntries(
    Object.entries(after).filter(([name, value]) => JSON.stringify(before[name]) !== JSON.stringify(value)),
  );
}

function changesInWords(changed: JsonObject): string {
  const names = Object.keys(changed);
  return names.length === 0 ? "Nothing is changed." : `Changed: ${names.map(visibleLine).join(", ")}.`;
}
