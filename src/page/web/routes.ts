/** What the address behind `#` names. Filters of the list are part of it, so that a view can be kept as a bookmark. */
export type Route =
  | { readonly view: "runs"; readonly filter: RunsFilter }
  | RunRoute
  | { readonly view: "packages"; readonly taskQueue: string }
  | { readonly view: "package"; readonly taskQueue: string; readonly packageId: string };

export interface RunRoute {
  readonly view: "run";
  readonly run: string;
  readonly tab: RunTab;
  /** What is open in the tab: a node, a file; an empty text where nothing is. */
  readonly at: string;
  /** Which visit of the node; absent means the newest. */
  readonly visit?: number;
}

/** As the options of `interlock runs`; an empty text narrows nothing. */
export interface RunsFilter {
  readonly phase: string;
  readonly package: string;
  readonly project: string;
  readonly since: string;
}

const RUN_TABS = ["graph", "results", "state", "actions"] as const;
export type RunTab = (typeof RUN_TABS)[number];

export const NO_FILTER: RunsFilter = { phase: "", package: "", project: "", since: "" };

/** What an address means; what means nothing is the list of runs. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const [view = "", id = "", third = "", fourth = "", fifth = ""] = path.split("/").map(decoded);
  if (view === "runs" && id !== "") return runRoute(id, third, fourth, fifth);
  if (view === "packages" && third !== "") return { view: "package", taskQueue: id, packageId: third };
  if (view === "packages") return { view, taskQueue: id };
  const asked = new URLSearchParams(query);
  const word = (name: string) => asked.get(name) ?? "";
  const filter = {
    phase: word("phase"),
    package: word("package"),
    project: word("project"),
    since: word("since"),
  };
  return { view: "runs", filter };
}

function runRoute(run: string, wanted: string, at: string, visit: string): RunRoute {
  const tab = RUN_TABS.find((known) => known === wanted) ?? "graph";
  return { view: "run", run, tab, at, ...(/^\d{1,9}$/.test(visit) ? { visit: Number(visit) } : {}) };
}

/** The address of the list, with its filter. */
export function runsHref(filter: RunsFilter = NO_FILTER): string {
  const set = Object.entries(filter).filter(([, value]) => value !== "");
  const query = new URLSearchParams(set).toString();
  return query === "" ? "#/runs" : `#/runs?${query}`;
}

/** The address of a run, or of one of its tabs and what is open there. */
export function runHref(run: string, tab: RunTab = "graph", at = "", visit?: number): string {
  return href(
    "runs",
    run,
    tab === "graph" && at === "" ? "" : tab,
    at,
    visit === undefined ? "" : String(visit),
  );
}

export function packagesHref(taskQueue = ""): string {
  return href("packages", taskQueue);
}

export function packageHref(taskQueue: string, packageId: string): string {
  return href("packages", taskQueue, packageId);
}

function href(...parts: readonly string[]): string {
  return `#/${parts
    .filter((part) => part !== "")
    .map(encodeURIComponent)
    .join("/")}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
