import { useState } from "preact/hooks";
import type { PackageAgent, PackageFacts, PackageFinding } from "../../api-run.js";
import { GraphView } from "../graph/graph-view.js";
import { packagesHref } from "../routes.js";
import { Choice, NotYet } from "../ui/parts.js";
import { SafeText } from "../ui/texts.js";
import { useAnswer } from "../use-asked.js";
import { useTitle } from "../use-title.js";
import { visibleLine } from "../visible.js";
import { counted } from "../../../core/text.js";
import { StartForm } from "./start-form.js";

interface PackageViewProps {
  readonly taskQueue: string;
  readonly packageId: string;
}

export function PackageView({ taskQueue, packageId }: PackageViewProps) {
  const { value, error } = useAnswer("package", { taskQueue, packageId });
  const name = visibleLine(value?.name ?? packageId);
  useTitle(name);
  if (value === undefined) return <NotYet asks="the store" error={error} />;
  return <Shown taskQueue={taskQueue} facts={value} />;
}

function Shown({ taskQueue, facts }: { readonly taskQueue: string; readonly facts: PackageFacts }) {
  const { name, version, description, workflows, agents, findings, packageId } = facts;
  const [chosen, setChosen] = useState(
    workflows.find(({ isEntry }) => isEntry)?.id ?? workflows[0]?.id ?? "",
  );
  const workflow = workflows.find(({ id }) => id === chosen) ?? workflows[0];
  return (
    <>
      <p>
        <a href={packagesHref(taskQueue)}>← All packages</a>
      </p>
      <div class="head">
        <h1>{visibleLine(name)}</h1>
        <span class="muted">{visibleLine(version)}</span>
        <div class="sub small">
          {description !== "" && (
            <>
              {visibleLine(description)}
              <br />
            </>
          )}
          <span class="mono">{visibleLine(packageId)}</span>
        </div>
      </div>
      <Findings findings={findings} />
      {workflows.length > 1 && (
        <Choice
          label="Workflow"
          value={workflow?.id ?? ""}
          options={workflows.map(({ id }) => [id, visibleLine(id)])}
          onValue={setChosen}
        />
      )}
      <div class="split">
        <section aria-label="Graph">{workflow !== undefined && <GraphView graph={workflow} />}</section>
        <div>
          <section class="card" aria-labelledby="start">
            <h2 id="start">Start a run</h2>
            <StartForm taskQueue={taskQueue} facts={facts} workflow={workflow} />
          </section>
          <Agents agents={agents} />
        </div>
      </div>
    </>
  );
}

function Findings({ findings }: { readonly findings: readonly PackageFinding[] }) {
  if (findings.length === 0) return null;
  const isBad = findings.some(({ severity }) => severity === "error");
  return (
    <section class={`note ${isBad ? "bad" : "warn"}`} aria-labelledby="findings">
      <h2 id="findings">{counted(findings.length, "finding")}</h2>
      <ul>
        {findings.map(({ severity, file, path, message }, index) => (
          <li key={index}>
            <strong>{severity}</strong>{" "}
            <code>
              {visibleLine(file)} {visibleLine(path)}
            </code>{" "}
            {visibleLine(message)}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Agents({ agents }: { readonly agents: readonly PackageAgent[] }) {
  return (
    <section class="card" aria-labelledby="agents">
      <h2 id="agents">{counted(agents.length, "agent")}</h2>
      <ul class="plain-list">
        {agents.map(({ id, name, title, icon, role }) => (
          <li key={id}>
            <strong>
              {visibleLine(icon)} {visibleLine(name)}
            </strong>{" "}
            <span class="muted">
              {visibleLine(title)} · <code>{visibleLine(id)}</code>
            </span>
            <SafeText text={role} form="markdown" />
          </li>
        ))}
      </ul>
    </section>
  );
}
