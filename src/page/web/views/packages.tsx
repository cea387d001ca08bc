import type { StoreFacts } from "../../api.js";
import { ask } from "../ask.js";
import { packageHref, packagesHref } from "../routes.js";
import { Choice, NotYet, Quiet } from "../ui/parts.js";
import { useAnswer, useAsked } from "../use-asked.js";
import { useTitle } from "../use-title.js";
import { visibleLine } from "../visible.js";

/** The stores that workers have made known, and the packages of one. */
export function PackagesView({ taskQueue }: { readonly taskQueue: string }) {
  useTitle("Packages");
  const { value, error } = useAsked("stores", storesAndOwn, 10_000);
  if (value === undefined) return <NotYet asks="Temporal" error={error} />;
  const { stores, own } = value;
  const chosen = storeOf(stores, taskQueue, own);
  return (
    <>
      <div class="head">
        <h1>Packages</h1>
      </div>
      {stores.length > 1 && (
        <Choice
          label="Store"
          value={chosen ?? ""}
          options={stores.map((store) => [store.taskQueue, storeName(store)])}
          onValue={(value) => {
            location.hash = packagesHref(value);
          }}
        />
      )}
      {chosen === undefined ? (
        <Quiet>
          No worker has made its store known yet. Start one with <code>{value.startWorker}</code>.
        </Quiet>
      ) : (
        <Listed key={chosen} taskQueue={chosen} />
      )}
    </>
  );
}

export async function storesAndOwn(signal: AbortSignal) {
  const [{ stores }, session] = await Promise.all([ask("stores", {}, signal), ask("session", {}, signal)]);
  return { stores, own: session.taskQueue, startWorker: session.startWorker };
}

/** The store that was asked for, else the one at hand, else the first that somebody works for. */
function storeOf(stores: readonly StoreFacts[], asked: string, own: string): string | undefined {
  if (asked !== "") return asked;
  const at =
    stores.find(({ taskQueue }) => taskQueue === own) ?? stores.find(({ polled }) => polled) ?? stores[0];
  return at?.taskQueue;
}

function storeName({ name, taskQueue, polled }: StoreFacts): string {
  return visibleLine(`${name} (${taskQueue})${polled ? "" : ", no worker"}`);
}

function Listed({ taskQueue }: { readonly taskQueue: string }) {
  const { value, error } = useAnswer("packages", { taskQueue });
  if (value === undefined) return <NotYet asks="the store" error={error} />;
  if (value.packages.length === 0) {
    return (
      <Quiet>
        No packages are installed. <code>interlock package install</code> brings one.
      </Quiet>
    );
  }
  return (
    <ul class="cards">
      {value.packages.map(({ packageId, name, version }) => (
        <li key={packageId}>
          <a class="card" href={packageHref(taskQueue, packageId)}>
            <strong>{visibleLine(name)}</strong> <span class="muted">{visibleLine(version)}</span>
            <br />
            <span class="mono small muted">{visibleLine(packageId)}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}
