import { resolve } from "node:path";
import type { Config } from "../../config.js";
import type { StoreReader } from "../../contract/reads.js";
import { leadsSomewhere } from "../../store/disk/is-there.js";
import { type Store, readStoreName } from "../../store/store.js";
import { lookAround } from "../session/environment.js";
import { isTemporalThere } from "../session/temporal-there.js";
import { type FoundProject, findProject, isName } from "../session/find-project.js";
import { type ExitCode, UsageError } from "../terminal/output.js";
import { remoteReader } from "../session/remote-reader.js";
import { followBegun } from "./go-on.js";
import type { FollowOptions, PreparedRun } from "../follow/follow-and-report.js";
import { type StoreSession, openTemporalSession, sessionAt } from "../session/temporal-session.js";
import { interruption } from "../terminal/interruption.js";

/** Where a run is started, and how it is followed. */
export interface ElsewhereOptions extends FollowOptions {
  /** The store that has the project: its name or id. */
  readonly store?: string;
  /** A directory of the store's machine, or a project's name. */
  readonly project: string;
  readonly printInput?: boolean;
}

/** A run in another store. */
export interface RunThere extends PreparedRun {
  /** Throws `UsageError` for what the store says that it does not have. */
  readonly check?: (reader: StoreReader) => Promise<void>;
}

/** A store is named, or the project is no directory that is here: it is a name. */
export async function isElsewhere({
  project,
  store,
}: {
  readonly project: string;
  readonly store: string | undefined;
}): Promise<boolean> {
  return store !== undefined || (isName(project) && !(await leadsSomewhere(resolve(project))));
}

/**
 * Runs something on a project that is found by its name, in the store that has it. `here` runs it in the store at hand, on the
 * project with this path; `prepare` says what is started in another one.
 */
export async function runElsewhere(
  options: ElsewhereOptions,
  prepare: (config: Config, found: FoundProject) => RunThere,
  here: (projectRoot: string) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { config, store } = await lookAround();
  const directory = resolve(options.project);
  const isOwn = store !== undefined && options.store !== undefined && (await isCalled(store, options.store));
  if (isOwn && (await leadsSomewhere(directory))) {
    return here(directory);
  }
  const wanted = options.store === undefined || isName(options.project) ? options.project : directory;
  if (store !== undefined && !(await isTemporalThere(config, store))) {
    return here((await findProject(undefined, store, wanted, options.store)).project.root);
  }
  const signal = interruption();
  const session = await openTemporalSession(config, store, signal);
  try {
    const found = await findProject(session.client, store, wanted, options.store);
    if (found.store.storeId !== store?.storeId) {
      if (options.printInput === true) {
        throw new UsageError(
          "--print-input is for the store at hand: say it on a machine that has the store.",
        );
      }
      return await runThere({ session, signal }, found, prepare(config, found), options);
    }
    const { root } = found.project;
    await session.close();
    return await here(root);
  } finally {
    await session.close();
  }
}

async function isCalled({ storeId, dir }: Store, name: string): Promise<boolean> {
  return storeId === name || (await readStoreName(dir)) === name;
}

async function runThere(
  here: Pick<StoreSession, "session" | "signal">,
  found: FoundProject,
  prepared: RunThere,
  options: ElsewhereOptions,
): Promise<ExitCode> {
  const session = sessionAt(here.session, found.store.taskQueue);
  const reader = remoteReader(session, found.store.storeId);
  await prepared.check?.(reader);
  const run = await prepared.start(session.client);
  const sentence = `Run ${run.runId} of ${prepared.name} is started in the store ${found.store.name}.`;
  return followBegun({ ...here, session, store: undefined, reader, run }, options, sentence);
}
