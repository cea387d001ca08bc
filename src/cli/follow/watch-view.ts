import type { RunEvent } from "../../core/run/run-event.js";
import { NO_USAGE, type Usage, addUsage, costInWords, tokensInWords } from "../../core/run/usage.js";
import { counted } from "../../core/text.js";
import { eventLine } from "../report/event-lines.js";
import { outputIsTerminal, print, printJson } from "../terminal/output.js";
import { notesAreRedrawn } from "../terminal/redraw.js";
import { elapsedWords } from "../terminal/time-of-day.js";
import { RedrawnBlock, notesOfChanges } from "./standing-notes.js";
import type { Standing } from "../report/waiting-words.js";

/** What somebody who watches a run is shown. */
export interface WatchView {
  show(events: readonly RunEvent[], about: { readonly createdAt: string }): void;
  /** Absent where nobody reads what the run waits for. */
  readonly wait?: (standing: Standing) => void;
  /** Takes back what stands there for the moment only. */
  close(): void;
}

/** `asEvents`: for programs. `knowsAll`: from the run's beginning, so that its totals are known. */
export function watchView(asEvents: boolean, knowsAll: boolean): WatchView {
  if (asEvents) return eventsView;
  return outputIsTerminal() && notesAreRedrawn() ? liveView(knowsAll) : plainView();
}

const eventsView: WatchView = {
  show(events) {
    for (const event of events) printJson(event);
  },
  close: () => undefined,
};

function printEvents(events: readonly RunEvent[]): void {
  for (const event of events) {
    const line = eventLine(event);
    if (line !== undefined) print(line);
  }
}

function plainView(): WatchView {
  return { show: printEvents, wait: notesOfChanges(), close: () => undefined };
}

function liveView(knowsAll: boolean): WatchView {
  const block = new RedrawnBlock();
  let usage = NO_USAGE;
  let createdAt: string | undefined;
  function draw(events: readonly RunEvent[]): void {
    const head = createdAt === undefined ? [] : [headOf(createdAt, knowsAll ? usage : undefined)];
    block.draw(head, events.length === 0 ? undefined : () => printEvents(events));
  }
  return {
    show(events, run) {
      ({ createdAt } = run);
      for (const event of events) {
        if (event.kind === "model.turn") usage = addUsage(usage, { ...event, modelTurns: 1 });
        if (event.kind === "node.pass") usage = addUsage(usage, event);
      }
      draw(events);
    },
    wait(standing) {
      block.wait(standing);
      draw([]);
    },
    close() {
      block.erase();
      block.close();
    },
  };
}

/** How long the run has been there, and what it has used. */
function headOf(createdAt: string, usage: Usage | undefined): string {
  const elapsed = elapsedWords(Date.now() - Date.parse(createdAt));
  if (usage === undefined) return `  ${elapsed}`;
  return `  ${elapsed}, ${counted(usage.modelTurns, "model turn")}, ${tokensInWords(usage)}${costInWords(usage)}`;
}
