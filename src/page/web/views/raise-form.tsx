import { useState } from "preact/hooks";
import type { Budget, BudgetLimits, BudgetScope } from "../../../core/run/budget.js";
import { ask } from "../ask.js";
import { Choice, DoForm, TextField } from "../ui/parts.js";
import { useDoing, useOnceIds } from "../use-asked.js";
import type { WatchedRun } from "../use-run.js";

const UNITS = [
  ["turns", "Model turns"],
  ["tokens", "Tokens"],
  ["cost", "Cost"],
] as const;

/** Adds to the limits that a run has. */
export function RaiseForm({ watched, budget }: { readonly watched: WatchedRun; readonly budget: Budget }) {
  const scopes = (["run", "node"] as const).filter((scope) => budget[scope] !== undefined);
  const [scope, setScope] = useState<BudgetScope>(scopes[0] ?? "run");
  const [added, setAdded] = useState<Readonly<Record<string, string>>>({});
  const [raised, setRaised] = useState<{ readonly from: string; readonly to: Budget }>();
  const ids = useOnceIds();
  const doing = useDoing();
  // Where no worker is there, what the run's files say is what was, until one is: as if nothing had been added.
  const told = JSON.stringify(budget);
  const isAhead = raised?.from === told;
  const limits = (isAhead ? raised.to : budget)[scope] ?? {};
  const units = UNITS.filter(([unit]) => limits[unit] !== undefined);
  const add: BudgetLimits = Object.fromEntries(
    units.flatMap(([unit]) => (Number(added[unit]) > 0 ? [[unit, Number(added[unit])]] : [])),
  );
  if (scopes.length === 0) return <p>This run has no budget: nothing has to be raised.</p>;
  const send = async () => {
    const raise = { run: watched.run, scope, add };
    const { budget: to } = await ask("raise", { ...raise, raiseId: ids.of(raise) });
    ids.renew();
    setRaised({ from: told, to });
    setAdded({});
    watched.again();
  };
  return (
    <DoForm doing={doing} button="Raise the budget" isReady={Object.keys(add).length > 0} onSubmit={send}>
      <p>What you add is added to the limit; a run that waits for it goes on.</p>
      {isAhead && <p role="status">The budget is raised.</p>}
      <div class="fields">
        {scopes.length > 1 && (
          <Choice
            label="Of"
            value={scope}
            options={[
              ["run", "the whole run"],
              ["node", "each visit of a node"],
            ]}
            onValue={(value) => setScope(value === "node" ? "node" : "run")}
          />
        )}
        {units.map(([unit, name]) => (
          <TextField
            key={unit}
            type="number"
            label={`${name} to add`}
            hint={`The limit is ${limits[unit]?.toLocaleString()} now.`}
            value={added[unit] ?? ""}
            onValue={(value) => setAdded({ ...added, [unit]: value })}
          />
        ))}
      </div>
    </DoForm>
  );
}
