import { useState } from "preact/hooks";
import type { PackageFacts, PackageWorkflow } from "../../api-run.js";
import type { StartRequest, StoreFacts } from "../../api.js";
import { ask } from "../ask.js";
import { useDrafts } from "../drafts.js";
import { leadToRun } from "../lead-to-run.js";
import { Choice, DoForm, Field, NotYet, TextField, Tick } from "../ui/parts.js";
import { useAsked, useDoing, useOnceIds } from "../use-asked.js";
import { visibleLine } from "../visible.js";
import { storesAndOwn } from "./packages.js";

interface StartFormProps {
  readonly taskQueue: string;
  readonly facts: PackageFacts;
  readonly workflow: PackageWorkflow | undefined;
}

export function StartForm(props: StartFormProps) {
  const { value, error } = useAsked("stores", storesAndOwn);
  const store = value?.stores.find(({ taskQueue }) => taskQueue === props.taskQueue);
  if (value === undefined) return <NotYet asks="Temporal" error={error} />;
  if (store === undefined || store.projects.length === 0) {
    return (
      <p>
        No project is known on which a run may work. Register one on the store's machine:{" "}
        <code>interlock project add DIRECTORY</code>
      </p>
    );
  }
  return <Form {...props} store={store} />;
}

/** What is filled in. */
interface Filled {
  readonly projectRoot: string;
  readonly model: string;
  readonly agentId: string;
  readonly story: string;
  readonly turns: string;
  readonly tokens: string;
  readonly cost: string;
  readonly rehearse: boolean;
  readonly branches: boolean;
  readonly autopilot: boolean;
  readonly evaluateConditions: boolean;
}

const NOTHING: Filled = {
  projectRoot: "",
  model: "",
  agentId: "",
  story: "",
  turns: "",
  tokens: "",
  cost: "",
  rehearse: false,
  branches: false,
  autopilot: false,
  evaluateConditions: false,
};

/** What the tab keeps of the form. */
const WORDS = "first words";

interface FilledProps {
  readonly filled: Filled;
  readonly set: (change: Partial<Filled>) => void;
}

function Form({ taskQueue, facts, workflow, store }: StartFormProps & { readonly store: StoreFacts }) {
  const [filled, setFilled] = useState({ ...NOTHING, projectRoot: store.projects[0]?.root ?? "" });
  const set = (change: Partial<Filled>) => setFilled((before) => ({ ...before, ...change }));
  const drafts = useDrafts(`the start of ${taskQueue} ${facts.packageId}`);
  const words = drafts.all.find(({ to }) => to === WORDS)?.text ?? "";
  const ids = useOnceIds();
  const doing = useDoing();
  const send = async () => {
    const workflowRef = facts.workflows.length > 1 ? workflow?.id : undefined;
    const request = {
      taskQueue,
      packageId: facts.packageId,
      ...(workflowRef === undefined ? {} : { workflowRef }),
      ...(words.trim() === "" ? {} : { input: words }),
      ...chosenIn(filled),
    };
    const newRunId = ids.of(request);
    await drafts.whileSent(WORDS, () => leadToRun(ask("start", { ...request, newRunId })));
    ids.renew();
  };
  const { rehearse } = filled;
  return (
    <DoForm
      doing={doing}
      button={rehearse ? "Rehearse" : "Start the run"}
      isReady={filled.projectRoot !== ""}
      onSubmit={send}
    >
      <Choice
        label="Project"
        hint="The run writes its results there."
        value={filled.projectRoot}
        options={store.projects.map(({ name, root }) => [root, visibleLine(`${name}: ${root}`)])}
        onValue={(projectRoot) => set({ projectRoot })}
      />
      <Field label="First words" hint="What the first node is told besides its instructions.">
        {(attributes) => (
          <textarea
            {...attributes}
            value={words}
            onInput={(event) => drafts.type(WORDS, event.currentTarget.value)}
          />
        )}
      </Field>
      <Tick
        label="Rehearse: a scripted model walks the package, nothing is sent anywhere"
        isOn={rehearse}
        onToggle={(isOn) => set({ rehearse: isOn })}
      />
      {rehearse && (
        <Tick
          label="Take other branches where there are some"
          isOn={filled.branches}
          onToggle={(branches) => set({ branches })}
        />
      )}
      <More facts={facts} filled={filled} set={set} />
      <div class="gap" />
    </DoForm>
  );
}

function More({ facts, filled, set }: FilledProps & { readonly facts: PackageFacts }) {
  const agents = facts.agents.map(({ id, name }) => [id, visibleLine(`${name} (${id})`)] as const);
  const typed = (name: "model" | "story" | "turns" | "tokens" | "cost") => ({
    value: filled[name],
    onValue: (value: string) => set({ [name]: value }),
  });
  return (
    <details>
      <summary class="small">More: model, agent, budget, story</summary>
      <div class="gap" />
      <div class="fields">
        <TextField
          label="Model"
          hint="A name in the worker's settings, or of its endpoint."
          {...typed("model")}
        />
        <Choice
          label="Agent"
          value={filled.agentId}
          options={[["", "As the package says"], ...agents]}
          onValue={(agentId) => set({ agentId })}
        />
        <TextField label="Story" hint="An id, for a run with a graph state." {...typed("story")} />
      </div>
      <div class="fields">
        <TextField label="Turns at most" type="number" {...typed("turns")} />
        <TextField label="Tokens at most" type="number" {...typed("tokens")} />
        <TextField label="Cost at most" type="number" {...typed("cost")} />
      </div>
      <Tick
        label="Autopilot: agents decide what they can without asking"
        isOn={filled.autopilot}
        onToggle={(autopilot) => set({ autopilot })}
      />
      <Tick
        label="Conditions of edges are evaluated"
        isOn={filled.evaluateConditions}
        onToggle={(evaluateConditions) => set({ evaluateConditions })}
      />
    </details>
  );
}

/** What was filled in, as a start names it. */
function chosenIn(filled: Filled): Pick<StartRequest, "projectRoot"> & Partial<StartRequest> {
  const { projectRoot, model, agentId, story, rehearse, branches } = filled;
  const { turns, tokens, cost, autopilot, evaluateConditions } = filled;
  const limits = Object.entries({ turns, tokens, cost }).filter(([, value]) => value !== "");
  return {
    projectRoot,
    ...(model.trim() === "" ? {} : { model: { model: model.trim() } }),
    ...(agentId === "" ? {} : { agentId }),
    ...(story.trim() === "" ? {} : { storyId: story.trim() }),
    ...(limits.length === 0
      ? {}
      : { budget: { run: Object.fromEntries(limits.map(([unit, value]) => [unit, Number(value)])) } }),
    ...(autopilot ? { autopilot } : {}),
    ...(evaluateConditions ? { evaluateConditions } : {}),
    ...(rehearse ? { rehearse: { branches } } : {}),
  };
}
