import { useState } from "preact/hooks";
import type { RunGraph, Visit } from "../../api-run.js";
import { type RunRoute, runHref } from "../routes.js";
import { Choice, Quiet, Switch } from "../ui/parts.js";
import type { WatchedRun } from "../use-run.js";
import { visibleLine } from "../visible.js";
import { counted } from "../../../core/text.js";
import { amount, clock, cost } from "../words.js";
import { BelowLink } from "./below-link.js";
import { ConversationView } from "./conversation.js";
import { VisitChange } from "./visit-change.js";
import { VisitWrites } from "./visit-writes.js";

interface NodePanelProps {
  readonly route: RunRoute;
  readonly watched: WatchedRun;
  readonly graph: RunGraph;
  readonly now: number;
}

/** A node: its visits, what was said, called, written and changed in each. */
export function NodePanel({ route, watched, graph, now }: NodePanelProps) {
  const node = graph.nodes.find(({ id }) => id === route.at);
  const visits = graph.visits.filter(({ nodeId }) => nodeId === route.at);
  const visit = visits.find((known) => known.visit === route.visit) ?? visits.at(-1);
  const usage = watched.standing.value?.usageByNode.find(({ nodeId }) => nodeId === route.at)?.usage;
  const title = visibleLine(node?.title ?? route.at);
  return (
    <>
      <p>
        <a href={runHref(watched.run)}>← To the timeline</a>
      </p>
      <div class="head">
        <h2>{title}</h2>
        <div class="sub small">
          {[
            visibleLine(route.at),
            node?.type,
            node?.agentId === undefined ? "" : `agent ${visibleLine(node.agentId)}`,
          ]
            .filter(Boolean)
            .join(" · ")}
          {usage !== undefined && (
            <>
              <br />
              {counted(usage.modelTurns, "turn")}, {counted(usage.toolCalls, "call")},{" "}
              {amount(usage.promptTokens)}+{amount(usage.completionTokens)} tokens
              {usage.cost > 0 && `, cost ${cost(usage.cost)}`}
            </>
          )}
        </div>
      </div>
      {visit === undefined ? (
        <Quiet>The run was not at this node yet.</Quiet>
      ) : (
        <>
          {visits.length > 1 && <VisitChoice run={watched.run} visits={visits} chosen={visit} now={now} />}
          <VisitView
            key={visit.visit}
            watched={watched}
            visit={visit}
            isNewest={visit.visit === graph.visitCount}
            now={now}
          />
        </>
      )}
    </>
  );
}

interface VisitChoiceProps {
  readonly run: string;
  readonly visits: readonly Visit[];
  readonly chosen: Visit;
  readonly now: number;
}

function VisitChoice({ run, visits, chosen, now }: VisitChoiceProps) {
  const options = visits.map(({ visit, endedAt, next }) => {
    const end = endedAt === undefined ? "not ended" : `until ${clock(endedAt, now)}`;
    return [
      String(visit),
      visibleLine(`Visit ${visit}, ${end}${next === undefined ? "" : ` → ${next}`}`),
    ] as const;
  });
  return (
    <Choice
      label={`Visited ${visits.length} times`}
      value={String(chosen.visit)}
      options={options}
      onValue={(value) => {
        location.hash = runHref(run, "graph", chosen.nodeId, Number(value));
      }}
    />
  );
}

interface VisitViewProps {
  readonly watched: WatchedRun;
  readonly visit: Visit;
  readonly isNewest: boolean;
  readonly now: number;
}

const PARTS = [
  ["said", "What was said"],
  ["written", "What it wrote"],
  ["changed", "What it changed"],
] as const;

function VisitView({ watched, visit, isNewest, now }: VisitViewProps) {
  const [part, setPart] = useState<(typeof PARTS)[number][0]>("said");
  const { conversation, below } = visit;
  return (
    <>
      {below !== undefined && (
        <p>
          {visit.endedAt === undefined ? "It waits for " : "It was done by "}
          <BelowLink run={below} />.
        </p>
      )}
      <Switch label={`Visit ${visit.visit}`} value={part} options={PARTS} onValue={setPart} />
      <div class="gap" />
      {part === "said" && conversation === undefined && <Quiet>Nothing was said in this visit.</Quiet>}
      {part === "said" && conversation !== undefined && (
        <ConversationView watched={watched} name={conversation} isNewest={isNewest} now={now} />
      )}
      {part === "written" && conversation !== undefined && (
        <VisitWrites watched={watched} conversation={conversation} visit={visit.visit} />
      )}
      {part === "changed" && <VisitChange watched={watched} visit={visit} />}
    </>
  );
}
