import type { RunGraph } from "../../api-run.js";
import { type DrawnGraph, GraphView, type Standing } from "../graph/graph-view.js";
import { type RunRoute, runHref } from "../routes.js";
import { Quiet, Unanswered } from "../ui/parts.js";
import { useAnswer } from "../use-asked.js";
import type { WatchedRun } from "../use-run.js";
import { visibleLine } from "../visible.js";
import { counted } from "../../../core/text.js";
import { bytes } from "../words.js";
import { ConversationView } from "./conversation.js";
import { NodePanel } from "./node-panel.js";
import { Timeline } from "./timeline.js";

interface GraphTabProps {
  readonly route: RunRoute;
  readonly watched: WatchedRun;
  readonly now: number;
}

/** The graph with the run on it, and beside it the timeline, or the node that was opened. */
export function GraphTab({ route, watched, now }: GraphTabProps) {
  const { run, graph, standing, description } = watched;
  const kind = description.value?.row.kind;
  const drawn = graph.value?.graph ?? undefined;
  return (
    <div class="split">
      <section class="stays" aria-label={kind === "bundle" ? "Steps" : "Graph"}>
        {kind === "bundle" && <BundleSteps watched={watched} at={route.at} />}
        {kind === "graph" && drawn === undefined && <Missing watched={watched} />}
        {drawn !== undefined && (
          <GraphView
            graph={withRefusedMoves(drawn)}
            standing={standingWord(standing.value?.phase ?? description.value?.row.phase)}
            chosen={route.at}
            hrefOf={(nodeId) => runHref(run, "graph", nodeId)}
          />
        )}
      </section>
      <section aria-label={route.at === "" ? "Timeline" : "Node"}>
        {route.at === "" && <Timeline watched={watched} now={now} />}
        {route.at !== "" && drawn !== undefined && (
          <NodePanel route={route} watched={watched} graph={drawn} now={now} />
        )}
        {route.at !== "" && kind === "bundle" && (
          <>
            <p>
              <a href={runHref(run)}>← To the timeline</a>
            </p>
            <ConversationView key={route.at} watched={watched} name={route.at} now={now} isNewest />
          </>
        )}
      </section>
    </div>
  );
}

function Missing({ watched: { graph } }: { readonly watched: WatchedRun }) {
  if (graph.error !== undefined)
    return <Quiet>The graph is shown when a worker that has the run's store answers.</Quiet>;
  return <Quiet>Asking the run's store …</Quiet>;
}

function standingWord(phase: string | undefined): Standing {
  return phase === "waiting-user" ? "waiting" : phase === "failed" ? "failed" : "";
}

/** Refused moves that no edge stands for are drawn as well. */
function withRefusedMoves(graph: RunGraph): DrawnGraph {
  const moves = graph.refusedMoves.map(({ from, to, count }) => ({
    from,
    to,
    label: "no edge",
    refused: count,
    isNoEdge: true,
  }));
  return { ...graph, edges: [...graph.edges, ...moves] };
}

/** A bundle run has no graph: what it has read of its workflow, where it writes, and what was said. */
function BundleSteps({ watched, at }: { readonly watched: WatchedRun; readonly at: string }) {
  const { run, round } = watched;
  const { value, error } = useAnswer("bundle", { run }, { asOf: round });
  if (value?.bundle === undefined || value.bundle === null)
    return <Unanswered error={error} row={watched.description.value?.row} />;
  const { sessionFolder, steps, files, conversations } = value.bundle;
  return (
    <>
      <div class="card">
        <h2>Steps it has read</h2>
        {steps.length === 0 && <p class="muted">None yet.</p>}
        <ol>
          {steps.map(({ path, reads }) => (
            <li key={path}>
              <code>{visibleLine(path)}</code>{" "}
              {reads > 1 && <span class="muted small">read {reads} times</span>}
            </li>
          ))}
        </ol>
        <h2>What was said</h2>
        <ul>
          {conversations.map(({ name, bytes: size }) => (
            <li key={name}>
              <a href={runHref(run, "graph", name)} aria-current={at === name ? "true" : undefined}>
                Conversation {visibleLine(name)}
              </a>{" "}
              <span class="muted small">{bytes(size)}</span>
            </li>
          ))}
        </ul>
      </div>
      <div class="card">
        <h2>Session folder</h2>
        {sessionFolder !== null && <p class="mono small">{visibleLine(sessionFolder)}</p>}
        <p class="muted small">{counted(files.length, "file")}</p>
        <ul>
          {files.map(({ path, bytes: size, problem }) => (
            <li key={path}>
              <a href={runHref(run, "results", path)}>{visibleLine(path)}</a>{" "}
              <span class="muted small">
                {problem !== undefined ? visibleLine(problem) : bytes(size ?? 0)}
              </span>
            </li>
          ))}
        </ul>
      </div>
    </>
  );
}
