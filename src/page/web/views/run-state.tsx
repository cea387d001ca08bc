import { Fault, Unanswered } from "../ui/parts.js";
import { SafeText } from "../ui/texts.js";
import { useAnswer } from "../use-asked.js";
import type { WatchedRun } from "../use-run.js";
import { visibleLine } from "../visible.js";
import { StoryChange } from "./visit-change.js";

/** Where the run stands, as its document and its story say. */
export function StateTab({ watched }: { readonly watched: WatchedRun }) {
  const { standing, description } = watched;
  const isGraph = description.value?.row.kind === "graph";
  if (standing.value === undefined) return <Unanswered error={standing.error} row={description.value?.row} />;
  const { variables, stepsCompleted, projectRoot, artifacts } = standing.value;
  const names = Object.keys(variables);
  return (
    <>
      <section class="card">
        <h2>Variables</h2>
        {names.length === 0 && <p class="muted">None are set.</p>}
        {names.length > 0 && <SafeText text={JSON.stringify(variables, null, 2)} form="json" />}
        <h3>Steps completed</h3>
        <p>
          {stepsCompleted.length === 0 ? (
            <span class="muted">None yet.</span>
          ) : (
            stepsCompleted.map(visibleLine).join(", ")
          )}
        </p>
        <h3>Results</h3>
        <p>
          {artifacts.length === 0 ? (
            <span class="muted">None yet.</span>
          ) : (
            artifacts.map(visibleLine).join(", ")
          )}
        </p>
        {projectRoot !== null && (
          <p class="small muted">
            Project <span class="mono">{visibleLine(projectRoot)}</span>
          </p>
        )}
      </section>
      {isGraph && <Document watched={watched} />}
      {isGraph && <Story watched={watched} />}
    </>
  );
}

function Document({ watched: { run, round } }: { readonly watched: WatchedRun }) {
  const { value, error } = useAnswer("document", { run }, { asOf: round });
  return (
    <section class="card">
      <h2>State document</h2>
      <p class="muted small">With it and the package alone the run can go on.</p>
      <Fault error={error} />
      {value !== undefined && <SafeText text={value.text} />}
    </section>
  );
}

function Story({ watched: { run, round } }: { readonly watched: WatchedRun }) {
  const { value } = useAnswer("graphState", { run }, { asOf: round });
  if (value?.change === undefined || value.change === null) return null;
  return (
    <section class="card">
      <h2>Graph state</h2>
      <p class="muted small">What the run has changed of its story since it began.</p>
      <StoryChange change={value.change} />
    </section>
  );
}
