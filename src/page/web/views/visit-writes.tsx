import { ask } from "../ask.js";
import { NotYet, Quiet } from "../ui/parts.js";
import { useAsked } from "../use-asked.js";
import type { WatchedRun } from "../use-run.js";
import { visibleLine } from "../visible.js";
import { bytes } from "../words.js";
import { WrittenFile } from "./written-file.js";

interface VisitWritesProps {
  readonly watched: WatchedRun;
  readonly conversation: string;
  readonly visit: number;
}

/** Pages of a conversation that are looked through for the calls of a visit. */
const MAX_PAGES = 30;
const PAGE = 100;

/** What a visit has written, each call by itself. */
export function VisitWrites({ watched, conversation, visit }: VisitWritesProps) {
  const { run, round } = watched;
  const key = `visit writes ${run} ${conversation} ${visit}`;
  const { value, error } = useAsked(
    key,
    (signal) => writesOf(run, conversation, visit, signal),
    undefined,
    round,
  );
  if (value === undefined) return <NotYet asks="the run's store" error={error} />;
  if (value.length === 0) return <Quiet>It wrote no files in this visit.</Quiet>;
  return (
    <>
      {value.map((write) => (
        <details key={write.callId} class="card" open={value.length === 1}>
          <summary>
            <code>{visibleLine(write.path)}</code>{" "}
            <span class="muted small">{write.bytes === undefined ? "" : bytes(write.bytes)}</span>
          </summary>
          <div class="gap" />
          <WrittenFile run={run} write={write} />
        </details>
      ))}
    </>
  );
}

async function writesOf(run: string, name: string, visit: number, signal: AbortSignal) {
  const { writes } = await ask("writes", { run }, signal);
  const calls = new Set<string>();
  for (let page = 0, total = 1; page < MAX_PAGES && page * PAGE < total; page += 1) {
    const answer = await ask("conversation", { run, name, from: page * PAGE, limit: PAGE }, signal);
    ({ total } = answer);
    for (const entry of answer.entries) {
      if (entry.type === "assistant" && entry.visit === visit)
        for (const { id } of entry.calls) calls.add(id);
    }
  }
  return writes.filter(({ callId }) => calls.has(callId));
}
