import type { RunDescription, RunStanding } from "../../api-run.js";
import { shortRunId } from "../../../core/run/run-id.js";
import { type RunRoute, type RunTab, runHref } from "../routes.js";
import { Facts, NotYet, Phase } from "../ui/parts.js";
import { useNow } from "../use-asked.js";
import { type WatchedRun, useRun } from "../use-run.js";
import { useTitle } from "../use-title.js";
import { visibleLine } from "../visible.js";
import { ago, amount, clock, cost, duration } from "../words.js";
import { ActionsTab } from "./run-actions.js";
import { GraphTab } from "./run-graph.js";
import { RunNotices } from "./run-notices.js";
import { ResultsTab } from "./run-results.js";
import { StateTab } from "./run-state.js";

export function RunView({ route }: { readonly route: RunRoute }) {
  const watched = useRun(route.run);
  const { description, standing } = watched;
  const { value } = description;
  const now = useNow();
  useTitle(value === undefined ? visibleLine(route.run) : runName(value));
  if (value === undefined) return <NotYet asks="Temporal" error={description.error} />;
  return (
    <>
      <Head description={value} standing={standing.value} now={now} />
      <RunNotices key={route.run} watched={watched} description={value} now={now} />
      <RunFacts description={value} standing={standing.value} now={now} />
      <Tabs
        run={route.run}
        tab={route.tab}
        kind={value.row.kind}
        results={standing.value?.artifacts.length ?? 0}
      />
      <TabView route={route} watched={watched} now={now} />
    </>
  );
}

function TabView({
  route,
  watched,
  now,
}: {
  readonly route: RunRoute;
  readonly watched: WatchedRun;
  readonly now: number;
}) {
  switch (route.tab) {
    case "graph":
      return <GraphTab route={route} watched={watched} now={now} />;
    case "results":
      return <ResultsTab watched={watched} at={route.at} />;
    case "state":
      return <StateTab watched={watched} />;
    case "actions":
      return <ActionsTab watched={watched} />;
  }
}

function runName({ row }: RunDescription): string {
  return visibleLine(row.workflowRef || row.packageId || row.workflowId);
}

interface PartProps {
  readonly description: RunDescription;
  readonly standing: RunStanding | undefined;
  readonly now: number;
}

function Head({ description, standing, now }: PartProps) {
  const { row, times, webUrl } = description;
  const from = standing?.stored.forkedFrom;
  const above = row.parentRunId ?? standing?.stored.parentRunId;
  return (
    <div class="head">
      <h1>{runName(description)}</h1>
      <span role="status">
        <Phase phase={row.phase} isPaused={row.paused} />
      </span>
      {webUrl !== null && (
        <a class="push small" href={webUrl} target="_blank" rel="noopener noreferrer">
          In Temporal's Web UI
        </a>
      )}
      <div class="sub small">
        {visibleLine(row.packageId ?? "")}
        {row.project !== undefined && <> · project {visibleLine(row.project)}</>} · begun{" "}
        <time dateTime={times.startedAt ?? row.startedAt}>
          {clock(times.startedAt ?? row.startedAt, now)}
        </time>
        {from !== undefined && (
          <>
            {" "}
            · a fork of <a href={runHref(from.runId)}>{visibleLine(shortRunId(from.runId))}</a> after visit{" "}
            {from.visit}
          </>
        )}
        {above !== undefined && (
          <>
            {" "}
            · part of <a href={runHref(above)}>run {visibleLine(shortRunId(above))}</a>
          </>
        )}
        <br />
        <span class="mono">{visibleLine(row.runId)}</span>
      </div>
    </div>
  );
}

function RunFacts({ description, standing, now }: PartProps) {
  const { row, times } = description;
  const begun = Date.parse(times.startedAt ?? row.startedAt);
  const end = times.endedAt === undefined ? now : Date.parse(times.endedAt);
  const model = modelNameOf(standing?.model);
  return (
    <Facts
      facts={[
        ["At", visibleLine(standing?.nodeId ?? row.nodeId ?? "–")],
        [times.endedAt === undefined ? "For" : "Took", duration(end - begun)],
        ...(times.endedAt === undefined ? [] : [["Ended", ago(times.endedAt, now)] as const]),
        ...usageFacts(standing?.usage),
        ...(model === undefined ? [] : [["Model", visibleLine(model)] as const]),
      ]}
    />
  );
}

function usageFacts(usage: RunStanding["usage"] | undefined): readonly (readonly [string, string])[] {
  if (usage === undefined)
    return [
      ["Model turns", "–"],
      ["Tool calls", "–"],
      ["Tokens in + out", "–"],
    ];
  const tokens = `${amount(usage.promptTokens)} + ${amount(usage.completionTokens)}`;
  return [
    ["Model turns", usage.modelTurns.toLocaleString()],
    ["Tool calls", usage.toolCalls.toLocaleString()],
    ["Tokens in + out", usage.estimated === true ? `~${tokens}` : tokens],
    ...(usage.cost === 0 ? [] : [["Cost", cost(usage.cost)] as const]),
  ];
}

/** What answered last, else what is asked first. */
function modelNameOf(model: RunStanding["model"]): string | undefined {
  const { name, model: own } = model?.answeredBy ?? model?.chain[0] ?? {};
  return name ?? own;
}

interface TabsProps {
  readonly run: string;
  readonly tab: RunTab;
  readonly kind: "graph" | "bundle";
  readonly results: number;
}

function Tabs({ run, tab, kind, results }: TabsProps) {
  const tabs: readonly (readonly [RunTab, string])[] = [
    ["graph", kind === "graph" ? "Graph and timeline" : "Steps and timeline"],
    ["results", results === 0 ? "Results" : `Results (${results})`],
    ["state", "State"],
    ["actions", "Actions"],
  ];
  return (
    <nav class="tabs" aria-label="Parts of the run">
      {tabs.map(([name, text]) => (
        <a key={name} href={runHref(run, name)} aria-current={name === tab ? "page" : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}
