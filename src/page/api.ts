import type { Bounded } from "../contract/bounded.js";
import type { JsonObject } from "../core/json.js";
import type { Budget, BudgetLimits, BudgetScope } from "../core/run/budget.js";
import type { RunEvent } from "../core/run/run-event.js";
import type { RunPhase } from "../core/run/phase.js";
import type { WantedModel } from "../core/run/run-model.js";
import type {
  BundleFacts,
  PackageFacts,
  RunDescription,
  RunGraph,
  RunStanding,
  RunsPage,
  WaitingQuestion,
} from "./api-run.js";
import type {
  CallFacts,
  ConversationPage,
  DocumentAt,
  FileWrite,
  GraphStateChange,
  LivePiece,
} from "./api-visit.js";

/*
 * What the page and its server say to each other: types only, for both sides. Every route is `GET <path>?<query>` or
 * `POST <path>` with a JSON body; there are no parameters in paths. Times are UTC, ISO 8601; durations are milliseconds.
 *
 * Every text comes from models, packages, projects or users: it is not printable, no HTML, and no address to be followed.
 * Texts that may be long come as `Bounded`. No answer exceeds `MAX_ANSWER_BYTES`, however large the run is.
 *
 * A fault is answered with a status of 400 or above and a `PageFault`. 401: there is no session, ask for a new link. 403: the request is not
 * of the page. 404 `E_RUN_NOT_FOUND`: the run's store has nothing of it; `NOT_IN_TEMPORAL`: Temporal knows no such run, or no more; `ENOENT`; 410 `RUN_PRUNED`: the files of a run that was there are gone. 409 `E_PRECONDITION_FAILED`: what was asked for cannot be done now, in a sentence.
 * 503 `NO_WORKER`: nobody who has the run's store answers within five seconds (what it was told it may take later); `NO_TEMPORAL`: Temporal does not. Both may pass.
 * 400 for all else that is wrong with a request, with its field; 500 `E_INTERNAL`.
 */

export type PageFault = {
  readonly error: {
    /** One of contracts §15, or `RUN_PRUNED`, `NOT_IN_TEMPORAL`, `NO_WORKER`, `NO_TEMPORAL`, `NO_SESSION`, `REFUSED`. */
    readonly code: string;
    readonly message: string;
  };
};

/** The largest answer to a request. A stream of events has none. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** The largest body of a request. */
export const MAX_BODY_BYTES = 256 * 1024;
/** Runs in one page of a listing. */
export const MAX_RUNS_PAGE = 200;
/** How many runs the page holds. */
export const MAX_RUNS_LISTED = 5_000;
/** Entries of one page of a conversation. */
export const MAX_ENTRIES_PAGE = 100;
/** How many streams one session may have open: a browser opens six connections to a host and needs some for requests. */
export const MAX_STREAMS = 4;

/** A run is named by its id or its workflow's. */
export interface OfRun {
  readonly run: string;
}

/** Every route: what it is asked, and what it answers. */
export interface PageApi {
  /** Who serves the page, and what it can do. */
  readonly session: { readonly request: Nothing; readonly answer: SessionFacts };
  /** Runs, newest first, a page at a time. Needs no worker. Ask again every few seconds: it is live by that. */
  readonly runs: { readonly request: RunsRequest; readonly answer: RunsPage };
  /** What waits for a person, oldest first, 200 at most, each as its first line. Needs no worker. */
  readonly questions: { readonly request: RunsNarrowing; readonly answer: QuestionsAnswer };
  /** A run as Temporal knows it. Needs no worker, and is quick: for the first paint. */
  readonly run: { readonly request: OfRun; readonly answer: RunDescription };
  /** A run as it says itself, and as its store does. Needs a worker (503 `NO_WORKER`). */
  readonly standing: { readonly request: OfRun; readonly answer: RunStanding };
  /** Its graph with the run on it. Null for a bundle run. Needs a worker. */
  readonly graph: { readonly request: OfRun; readonly answer: { readonly graph: RunGraph | null } };
  /** The steps and the session folder of a bundle run. Null for a graph run. Needs a worker. */
  readonly bundle: { readonly request: OfRun; readonly answer: { readonly bundle: BundleFacts | null } };
  /** Turns, calls, phases and answers as they were recorded: about 128 KiB of the log at once. Needs a worker. */
  readonly events: { readonly request: EventsRequest; readonly answer: EventsPage };
  /** A page of a conversation. A text that is cut comes longer where its entry is asked for alone. Needs a worker. */
  readonly conversation: { readonly request: ConversationRequest; readonly answer: ConversationPage };
  /** One tool call: its arguments and its result. Needs a worker. */
  readonly call: { readonly request: CallRequest; readonly answer: CallFacts };
  /** What a run has written into its project, in order, the newest 1,000. Needs a worker. */
  readonly writes: { readonly request: OfRun; readonly answer: { readonly writes: readonly FileWrite[] } };
  /** What was written, by its SHA-256 as `writes` has it; null where it is no longer kept, or no UTF-8. Needs a worker. */
  readonly content: {
    readonly request: OfRun & { readonly sha256: string };
    readonly answer: { readonly text: Bounded | null };
  };
  /** A file that the run has recorded as its result, by its path, as it is now; null where it is no UTF-8. 404 `ENOENT`. Needs a worker. */
  readonly artifact: {
    readonly request: OfRun & { readonly path: string };
    readonly answer: { readonly text: Bounded | null };
  };
  /** The state document after a visit (0: at the beginning), or as it is now. Of a graph run. Needs a worker. */
  readonly document: {
    readonly request: OfRun & { readonly visit?: number };
    readonly answer: DocumentAt;
  };
  /** What a visit has changed of the graph state; all changes since the beginning without `visit`. Null for a run without a story. Needs a worker. */
  readonly graphState: {
    readonly request: OfRun & { readonly visit?: number };
    readonly answer: { readonly change: GraphStateChange | null };
  };
  /** Where a fork would begin and what it would find: for the form that says what it will do. Needs a worker. */
  readonly forkPoint: { readonly request: OfRun & { readonly visit: number }; readonly answer: ForkPoint };
  /** The stores that workers have made known, with the projects that runs may work on. Needs no worker. */
  readonly stores: { readonly request: Nothing; readonly answer: { readonly stores: readonly StoreFacts[] } };
  /** The packages of a store. Needs a worker. */
  readonly packages: { readonly request: OfStore; readonly answer: PackagesAnswer };
  /** A package: workflows with their graphs, agents, findings of its check. Needs a worker. */
  readonly package: {
    readonly request: OfStore & { readonly packageId: string };
    readonly answer: PackageFacts;
  };

  /** Answers the question with that id, and no other. Sent twice it is one answer. 409: it is answered already, or another one is asked. */
  readonly answer: {
    readonly request: OfRun & {
      readonly nodeId: string;
      readonly question: string;
      /** At most 64 KiB. */
      readonly text: string;
    };
    readonly answer: Done;
  };
  /** Lets a failed or cancelled run go on from its document. */
  readonly retry: { readonly request: OfRun & { readonly model?: WantedModel }; readonly answer: Done };
  /** Stops it before its next model turn. */
  readonly pause: { readonly request: OfRun; readonly answer: Done };
  readonly resume: { readonly request: OfRun; readonly answer: Done };
  /** Asks it to stop: it fails with `ENGINE_ABORTED`, and can be retried. */
  readonly cancel: { readonly request: OfRun; readonly answer: Done };
  /** Ends a bundle run as completed. */
  readonly finish: { readonly request: OfRun; readonly answer: Done };
  /** Adds to the limits of the budget. `raiseId`, made once for a form, makes it one raise however often it is sent. */
  readonly raise: {
    readonly request: OfRun & {
      readonly scope?: BudgetScope;
      readonly add: BudgetLimits;
      readonly raiseId: string;
    };
    readonly answer: { readonly budget: Budget };
  };
  /** A new run that begins as this one stood after a visit, with changed variables. `newRunId`, a UUID, makes it one run however often it is sent. */
  readonly fork: {
    readonly request: OfRun & {
      readonly visit: number;
      readonly newRunId: string;
      readonly set?: JsonObject;
      readonly model?: WantedModel;
      readonly allowMissing?: boolean;
    };
    readonly answer: Started;
  };
  /** Starts a run in a store, on one of its projects. `newRunId` as for `fork`. */
  readonly start: { readonly request: StartRequest; readonly answer: Started };
}

/** Where the link leads: it tells the page what stands in place of `/api` in the paths below, which other programs of the host do not know. */
export function openedHref(place: string): string {
  return `/#/opened${place}`;
}

export type RouteName = keyof PageApi;
export type RouteRequest<N extends RouteName> = PageApi[N]["request"];
export type RouteAnswer<N extends RouteName> = PageApi[N]["answer"];

interface Route {
  readonly method: "GET" | "POST";
  readonly path: `/api/${string}`;
}

/** Where each route is. What is read is a GET with its request as the query, what changes something a POST with it as JSON. */
export const ROUTES: Readonly<Record<RouteName, Route>> = {
  session: { method: "GET", path: "/api/session" },
  runs: { method: "GET", path: "/api/runs" },
  questions: { method: "GET", path: "/api/questions" },
  run: { method: "GET", path: "/api/run" },
  standing: { method: "GET", path: "/api/run/standing" },
  graph: { method: "GET", path: "/api/run/graph" },
  bundle: { method: "GET", path: "/api/run/bundle" },
  events: { method: "GET", path: "/api/run/events" },
  conversation: { method: "GET", path: "/api/run/conversation" },
  call: { method: "GET", path: "/api/run/call" },
  writes: { method: "GET", path: "/api/run/writes" },
  content: { method: "GET", path: "/api/run/content" },
  artifact: { method: "GET", path: "/api/run/artifact" },
  document: { method: "GET", path: "/api/run/document" },
  graphState: { method: "GET", path: "/api/run/graph-state" },
  forkPoint: { method: "GET", path: "/api/run/fork-point" },
  stores: { method: "GET", path: "/api/stores" },
  packages: { method: "GET", path: "/api/packages" },
  package: { method: "GET", path: "/api/package" },
  answer: { method: "POST", path: "/api/run/answer" },
  retry: { method: "POST", path: "/api/run/retry" },
  pause: { method: "POST", path: "/api/run/pause" },
  resume: { method: "POST", path: "/api/run/resume" },
  cancel: { method: "POST", path: "/api/run/cancel" },
  finish: { method: "POST", path: "/api/run/finish" },
  raise: { method: "POST", path: "/api/run/raise" },
  fork: { method: "POST", path: "/api/run/fork" },
  start: { method: "POST", path: "/api/start" },
};

/**
 * `GET /api/run/live?run=<id>&seq=<n>`: a stream of Server-Sent Events, for an `EventSource`. It begins with the events from `seq` on (absent: with the
 * next ones), and ends when the run is over, with `end`. Each message has a name of `LiveMessages` and its JSON as data; the id of `events` is the next
 * `seq`, so a connection that is made anew goes on where the last one ended. Of more than `MAX_STREAMS` at once the further ones are
 * refused with 503 and `Retry-After`: ask `events` every few seconds instead. Close it while nobody looks.
 */
export const LIVE_PATH = "/api/run/live";

export interface LiveMessages {
  /** What has happened since. Ask `standing` and `graph` anew after it. */
  readonly events: { readonly events: readonly RunEvent[]; readonly next: number };
  /** What has come of the answer that a model gives now, a few times a second. */
  readonly piece: LivePiece;
  /** No answer is under way any more: it is in the conversation, or void. */
  readonly pieceEnd: Nothing;
  /** Nobody who has the run's store answers; it is asked again. `back`: somebody does. */
  readonly silent: { readonly message: string };
  readonly back: Nothing;
  /** The run is over. Nothing comes after it. */
  readonly end: { readonly phase: RunPhase };
  /** The stream ends for this fault, and need not be opened again. */
  readonly fault: PageFault;
}

export type Nothing = Readonly<Record<string, never>>;

export interface SessionFacts {
  readonly version: string;
  readonly namespace: string;
  /** The queue of the store at hand: what `start` uses where no store is named. */
  readonly taskQueue: string;
  /** The command that starts a worker of a store for this Temporal. */
  readonly startWorker: string;
}

/** What a listing is narrowed to, as in `interlock runs`. */
export interface RunsNarrowing {
  /** The beginning of a package's id. */
  readonly package?: string;
  /** A project's id, or the name of its directory. */
  readonly project?: string;
}

export interface RunsRequest extends RunsNarrowing {
  /** Of those only; several are separated by commas. */
  readonly phase?: string;
  /** Begun at or after this time. */
  readonly since?: string;
  /** Begun at or before this time, to the millisecond: as the last one of the page before has `startedAt`. */
  readonly before?: string;
  /** 1 to `MAX_RUNS_PAGE`; 50 where it is absent. */
  readonly limit?: number;
}

export interface QuestionsAnswer {
  readonly questions: readonly WaitingQuestion[];
  /** There are more than these. */
  readonly more: boolean;
}

/** One of `seq`, `tail`, and `offset` with `lines`; none means from the beginning. */
export interface EventsRequest extends OfRun {
  /** From that event on. */
  readonly seq?: number;
  /** The last lines of the log, so many: at most 1,000. */
  readonly tail?: number;
  /** Where the page before has ended: its `next`. */
  readonly offset?: number;
  readonly lines?: number;
}

export interface EventsPage {
  readonly events: readonly RunEvent[];
  readonly next: { readonly offset: number; readonly lines: number };
  readonly more: boolean;
}

export interface ConversationRequest extends OfRun {
  /** As `RunGraph.visits` names it. */
  readonly name: string;
  /** The first entry, counted from 0; negative from the end. Absent means the last page. */
  readonly from?: number;
  /** At most `MAX_ENTRIES_PAGE`. */
  readonly limit?: number;
  /** "true": with what models have thought, where providers say it. */
  readonly reasoning?: boolean;
}

export interface CallRequest extends OfRun {
  /** The conversation it was made in. */
  readonly name: string;
  readonly id: string;
}

export interface ForkPoint {
  readonly visit: number;
  readonly nodeId: string;
  readonly projectRoot: string;
  /** The variables as they were: what `set` changes. */
  readonly variables: JsonObject;
  /** What the run had written by then: `same`, or what lies there now `differs`, is `missing`, or cannot be restored (`lost`). */
  readonly files: readonly { readonly path: string; readonly status: string }[];
}

/** Names, hosts and projects are what workers say of themselves. */
export interface StoreFacts {
  readonly storeId: string;
  readonly name: string;
  readonly taskQueue: string;
  /** Whether anybody polls its queue now. */
  readonly polled: boolean;
  readonly projects: readonly { readonly projectId: string; readonly name: string; readonly root: string }[];
}

export interface OfStore {
  /** A task queue that `stores` has named. */
  readonly taskQueue: string;
}

export interface PackagesAnswer {
  readonly packages: readonly {
    readonly packageId: string;
    readonly name: string;
    readonly version: string;
  }[];
}

export interface StartRequest extends OfStore {
  readonly newRunId: string;
  readonly packageId: string;
  readonly workflowRef?: string;
  readonly agentId?: string;
  /** One of the store's. */
  readonly projectRoot: string;
  /** The user's first words, at most 64 KiB. */
  readonly input?: string;
  readonly autopilot?: boolean;
  readonly evaluateConditions?: boolean;
  readonly storyId?: string;
  readonly budget?: Budget;
  readonly model?: WantedModel;
  /** Walks the package with a scripted model: nothing is sent anywhere. */
  readonly rehearse?: { readonly branches: boolean };
}

export type Done = { readonly done: true };
export interface Started {
  readonly runId: string;
}
