import type { StateDiffItem } from "../../../core/graph-state/schemas.js";
import type { GraphStateChange } from "../../api-visit.js";
import type { Visit } from "../../api-run.js";
import { ask } from "../ask.js";
import { Difference } from "../ui/difference.js";
import { NotYet } from "../ui/parts.js";
import { SafeText } from "../ui/texts.js";
import { useAsked } from "../use-asked.js";
import type { WatchedRun } from "../use-run.js";
import { visibleLine } from "../visible.js";
import { counted } from "../../../core/text.js";

/** What a visit has changed: the state document before and after it, and the story's graph state. */
export function VisitChange({
  watched,
  visit: { visit, endedAt },
}: {
  readonly watched: WatchedRun;
  readonly visit: Visit;
}) {
  const { run, round } = watched;
  const load = async (signal: AbortSignal) => {
    const [before, after, story] = await Promise.all([
      ask("document", { run, visit: visit - 1 }, signal),
      ask("document", endedAt === undefined ? { run } : { run, visit }, signal),
      ask("graphState", { run, visit }, signal).catch(() => ({ change: null })), // it has none before the visit's end
    ]);
    return { before: before.text.text, after: after.text.text, change: story.change };
  };
  const { value, error } = useAsked(
    `change ${run} ${visit}`,
    load,
    undefined,
    endedAt === undefined ? round : 0,
  );
  if (value === undefined) return <NotYet asks="the run's store" error={error} />;
  return (
    <>
      <h3>The state document</h3>
      <Difference before={value.before} after={value.after} />
      <details>
        <summary class="small">As it was before the visit</summary>
        <SafeText text={value.before} />
      </details>
      <details>
        <summary class="small">
          {endedAt === undefined ? "As it is now" : "As it was after the visit"}
        </summary>
        <SafeText text={value.after} />
      </details>
      {value.change !== null && (
        <>
          <div class="gap" />
          <h3>The graph state</h3>
          <StoryChange change={value.change} />
        </>
      )}
    </>
  );
}

/** What was added to, changed in and removed from a story's graph state. */
export function StoryChange({ change }: { readonly change: GraphStateChange }) {
  const { added, changed, removed, isCut } = change;
  if (added.length + changed.length + removed.length === 0)
    return <p class="muted">Nothing of it changed.</p>;
  const parts = [
    ["added", added],
    ["changed", changed],
    ["removed", removed],
  ] as const;
  return (
    <>
      <p class="muted small">
        {parts.map(([word, items]) => `${counted(items.length, "value")} ${word}`).join(", ")}
        {isCut && "; these are the first"}
      </p>
      <div class="difference" tabIndex={0} role="region" aria-label="What changed of the graph state">
        {parts.flatMap(([word, items]) =>
          items.map((item) => <StoryItem key={`${word} ${item.path}`} item={item} />),
        )}
      </div>
    </>
  );
}

function StoryItem({ item: { path, oldValue, newValue } }: { readonly item: StateDiffItem }) {
  return (
    <div>
      <strong>{visibleLine(path)}</strong>
      {oldValue !== undefined && <del>{shortJson(oldValue)}</del>}
      {newValue !== undefined && <ins>{shortJson(newValue)}</ins>}
    </div>
  );
}

function shortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? "";
  return visibleLine(text.length > 2_000 ? `${text.slice(0, 2_000)}…` : text);
}
