import type { RunEvent } from "../../core/run/run-event.js";
import type { EventsPage } from "../api.js";

/** Where a page of events begins: at an event, or where the page before has ended. */
export type EventsFrom = { readonly seq: number } | EventsPage["next"];

/** The events from one on up to another: a page has as many as a store reads at once, which may be fewer than are between them. */
export async function eventsBetween(
  askPage: (from: EventsFrom) => Promise<EventsPage>,
  first: number,
  end: number,
): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  let from: EventsFrom = { seq: first };
  for (;;) {
    const page = await askPage(from);
    events.push(...page.events);
    if (!page.more || page.next.lines + 1 >= end) return events.filter(({ seq }) => seq < end);
    from = page.next;
  }
}
