import { runHref } from "../routes.js";
import type { EventRow } from "../event-rows.js";
import { Quiet, Untold } from "../ui/parts.js";
import { VirtualList } from "../ui/virtual-list.js";
import type { WatchedRun } from "../use-run.js";
import { visibleLine } from "../visible.js";
import { clock } from "../words.js";

const ROW_HEIGHT = 58;

/** Turns, calls, phases and answers in order, the newest at the end. */
export function Timeline({ watched, now }: { readonly watched: WatchedRun; readonly now: number }) {
  const { rows, isWhole, error, older } = watched.events;
  return (
    <>
      <div class="row">
        <h2>Timeline</h2>
        {!isWhole && (
          <button type="button" class="push" onClick={older}>
            Show earlier
          </button>
        )}
      </div>
      {rows.length === 0 && <Untold error={error} row={watched.description.value?.row} />}
      {rows.length === 0 && error === undefined && <Quiet>Nothing has happened yet.</Quiet>}
      {rows.length > 0 && (
        <VirtualList
          label="Timeline, oldest first"
          items={rows}
          rowHeight={ROW_HEIGHT}
          keyOf={({ seq }) => String(seq)}
          follows
        >
          {(row) => <Row run={watched.run} row={row} now={now} />}
        </VirtualList>
      )}
    </>
  );
}

function Row({ run, row, now }: { readonly run: string; readonly row: EventRow; readonly now: number }) {
  const { at, kind, nodeId, visit, what, details, outcome } = row;
  return (
    <a class="event-row" href={runHref(run, "graph", nodeId, visit)}>
      <span class="line">
        {kind === "run.phase" ? <strong>{visibleLine(what)}</strong> : <span>{visibleLine(what)}</span>}
        {outcome !== undefined && <span class="outcome refused keep">{outcome}</span>}
        <time dateTime={at}>{clock(at, now)}</time>
      </span>
      <span class="line small muted">
        <span class="where">{visibleLine(nodeId)}</span>
        <span>{visibleLine(details)}</span>
      </span>
    </a>
  );
}
