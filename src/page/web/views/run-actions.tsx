import { useState } from "preact/hooks";
import { ask } from "../ask.js";
import { Action, DoForm, Quiet } from "../ui/parts.js";
import { useDoing } from "../use-asked.js";
import type { WatchedRun } from "../use-run.js";
import { ForkForm } from "./fork-form.js";
import { RaiseForm } from "./raise-form.js";
import { isOverPhase } from "../../../core/run/phase.js";

/** What can be done with a run: each form says what it will do. */
export function ActionsTab({ watched }: { readonly watched: WatchedRun }) {
  const row = watched.description.value?.row;
  if (row === undefined) return <Quiet>Asking Temporal …</Quiet>;
  const isOpen = !isOverPhase(row.phase);
  const budget = watched.standing.value?.budget;
  return (
    <>
      {!isOpen && <p class="muted">The run is over: it cannot be paused or cancelled any more.</p>}
      {isOpen && !row.paused && (
        <Action title="Pause" what="It stops before its next model turn">
          <Simple
            watched={watched}
            route="pause"
            button="Pause the run"
            says="A model call under way is let end, and so are the tool calls it asks for. The next turn is not begun until the run is let go on. Answers are taken meanwhile."
          />
        </Action>
      )}
      {isOpen && row.paused && (
        <Action title="Let it go on" what="Its next model turn begins">
          <Simple
            watched={watched}
            route="resume"
            button="Let it go on"
            says="The run goes on where it was paused."
          />
        </Action>
      )}
      {isOpen && row.kind === "bundle" && (
        <Action title="Finish" what="The run ends as completed">
          <Simple
            watched={watched}
            route="finish"
            button="Finish the run"
            says="What it has written stays, and its manifest is completed."
          />
        </Action>
      )}
      {isOpen && budget !== undefined && (
        <Action title="Raise the budget" what="It may use more">
          <RaiseForm watched={watched} budget={budget} />
        </Action>
      )}
      {row.kind === "graph" && (
        <Action title="Fork" what="A new run begins where this one stood">
          <ForkForm watched={watched} />
        </Action>
      )}
      {isOpen && (
        <Action title="Cancel" what="It ends as failed, and can be retried">
          <Simple
            watched={watched}
            route="cancel"
            button="Cancel the run"
            isDangerous
            says="A model call under way is broken off. The run fails with ENGINE_ABORTED; its state and its files stay as they are."
          />
        </Action>
      )}
    </>
  );
}

interface SimpleProps {
  readonly watched: WatchedRun;
  readonly route: "pause" | "resume" | "cancel" | "finish";
  readonly says: string;
  readonly button: string;
  readonly isDangerous?: boolean;
}

function Simple({ watched, route, says, button, isDangerous = false }: SimpleProps) {
  const doing = useDoing();
  const [isTold, setTold] = useState(false);
  const send = async () => {
    setTold(false);
    await ask(route, { run: watched.run });
    setTold(true);
    watched.again();
  };
  return (
    <DoForm doing={doing} button={button} isDangerous={isDangerous} onSubmit={send}>
      <p>{says}</p>
      {isTold && <p role="status">The run is told.</p>}
    </DoForm>
  );
}
