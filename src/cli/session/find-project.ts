import { basename, resolve } from "node:path";
import type { InterlockClient, KnownStore } from "../../client/client.js";
import { MAX_STORE_PROJECTS, type StoreProject } from "../../contract/store-record.js";
import { excerpt } from "../../core/text.js";
import { leadsSomewhere } from "../../store/disk/is-there.js";
import { resolveProject } from "../../store/runs/project-id.js";
import type { Store } from "../../store/store.js";
import { chooseStore, knownStores, namesOf } from "./known-stores.js";
import { UsageError } from "../terminal/output.js";

/** A project, and the store that has it. */
export interface FoundProject {
  readonly store: KnownStore;
  readonly project: StoreProject;
}

/**
 * The project of that name, id or path on its hosts, in the store that has it. `client` is absent where there is no Temporal to ask:
 * then only the store at hand is looked at. Throws `UsageError` for none and for several.
 */
export async function findProject(
  client: InterlockClient | undefined,
  own: Store | undefined,
  wanted: string,
  storeName: string | undefined,
): Promise<FoundProject> {
  const all = await storesWithProjects(client, own);
  const among = storeName === undefined ? all : [chooseStore(all, storeName)];
  return theOnly(among, wanted, listingOf(client));
}

/**
 * What is to be said of a listing that found nothing of a project: whether there is one that is called so. Undefined where a store has it,
 * and where one has more projects than it makes known. A directory that is there is one.
 */
export async function unknownProject(
  client: InterlockClient | undefined,
  own: Store | undefined,
  wanted: string | undefined,
): Promise<string | undefined> {
  if (wanted === undefined || (await leadsSomewhere(resolve(wanted)))) return undefined;
  const stores = await storesWithProjects(client, own);
  const mayHave = ({ projects }: KnownStore): boolean =>
    projects.length >= MAX_STORE_PROJECTS ||
    projects.some(({ name, projectId }) => [name, projectId].includes(wanted));
  if (stores.some(mayHave)) return undefined;
  return `No store that is known has a project "${excerpt(wanted)}". See: ${listingOf(client)}`;
}

function listingOf(client: InterlockClient | undefined): string {
  return client === undefined ? "interlock project list" : "interlock stores";
}

async function storesWithProjects(
  client: InterlockClient | undefined,
  own: Store | undefined,
): Promise<readonly KnownStore[]> {
  const projects = own === undefined ? [] : await projectsOf(own);
  const mine = own && { workers: [], storeId: own.storeId, taskQueue: own.taskQueue, name: "at hand" };
  const known =
    client === undefined ? [mine].filter((store) => store !== undefined) : await knownStores(client, own);
  const stores = known.map((store) => (store.storeId === own?.storeId ? { ...store, projects } : store));
  return stores.map((store) => ({ projects: [], ...store }));
}

/** Pure: the one project that is called so; `listing` is the command that lists those there are. */
export function theOnly(
  stores: readonly KnownStore[],
  wanted: string,
  listing = "interlock stores",
): FoundProject {
  const found = stores.flatMap((store) =>
    store.projects
      .filter(({ name, projectId, root }) => [name, projectId, root].includes(wanted))
      .map((project) => ({ store, project })),
  );
  const [only] = found;
  const name = excerpt(wanted);
  if (only === undefined) {
    const who = stores.length === 1 ? `the store ${excerpt(stores[0]?.name ?? "")} has no` : "no store has a";
    throw new UsageError(
      `"${name}" is no directory, and ${who} project of that name. Make the directory first, or see: ${listing}`,
    );
  }
  if (found.length === 1) return only;
  const having = [...new Set(found.map(({ store }) => store))];
  if (having.length > 1) {
    const sentence = `Several stores have a project "${name}". Say which with --store and a name or id:`;
    throw new UsageError(`${sentence}\n${namesOf(having)}`);
  }
  const ids = found.map(({ project }) => `${excerpt(project.projectId)}  ${excerpt(project.root)}`);
  throw new UsageError(
    `The store ${excerpt(only.store.name)} has several projects "${name}". Say which with its id:\n${ids.join("\n")}`,
  );
}

/** The projects that runs of the store at hand may write to. */
async function projectsOf(store: Store): Promise<readonly StoreProject[]> {
  const found: StoreProject[] = [];
  for (const { path, access } of store.roots.list()) {
    const project = access === "write" ? await resolveProject(path) : undefined;
    if (project?.ok !== true) continue;
    const { projectId, root } = project.value;
    found.push({ projectId, root, name: basename(root) });
  }
  return found;
}

/** Whether a text can be the name of a project: it leads nowhere. */
export function isName(text: string): boolean {
  return text !== "" && text !== "." && text !== ".." && !/[/\\~\0]/.test(text);
}
