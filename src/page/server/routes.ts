import type { RouteAnswer, RouteName, RouteRequest } from "../api.js";
import { answerAction, forkAction, plainAction, raiseAction, retryAction, startAction } from "./actions.js";
import {
  packageAnswer,
  packagesAnswer,
  questionsAnswer,
  runsAnswer,
  sessionAnswer,
  storesAnswer,
} from "./list-answers.js";
import type { KnownRuns, PageDeps } from "./places.js";
import { parseRequest } from "./requests.js";
import { bundleAnswer, eventsAnswer, graphAnswer, runAnswer, standingAnswer } from "./run-answers.js";
import {
  artifactAnswer,
  callAnswer,
  contentAnswer,
  conversationAnswer,
  documentAnswer,
  forkPointAnswer,
  graphStateAnswer,
  writesAnswer,
} from "./visit-answers.js";

type Answers = {
  readonly [N in RouteName]: (asked: RouteRequest<N>) => Promise<RouteAnswer<N>> | RouteAnswer<N>;
};

/** What each route answers. */
export function answersOf(deps: PageDeps, runs: KnownRuns): Answers {
  return {
    session: () => sessionAnswer(deps),
    runs: (asked) => runsAnswer(deps, asked),
    questions: (asked) => questionsAnswer(deps, asked),
    run: async ({ run }) => runAnswer(deps, await runs.find(run)),
    standing: async ({ run }) => standingAnswer(await runs.find(run)),
    graph: async ({ run }) => graphAnswer(await runs.find(run)),
    bundle: async ({ run }) => bundleAnswer(await runs.find(run)),
    events: async (asked) => eventsAnswer(await runs.find(asked.run), asked),
    conversation: async (asked) => conversationAnswer(await runs.find(asked.run), asked),
    call: async (asked) => callAnswer(await runs.find(asked.run), asked),
    writes: async ({ run }) => writesAnswer(await runs.find(run)),
    content: async (asked) => contentAnswer(await runs.find(asked.run), asked),
    artifact: async (asked) => artifactAnswer(await runs.find(asked.run), asked),
    document: async (asked) => documentAnswer(await runs.find(asked.run), asked),
    graphState: async (asked) => graphStateAnswer(await runs.find(asked.run), asked),
    forkPoint: async (asked) => forkPointAnswer(await runs.find(asked.run), asked),
    stores: () => storesAnswer(deps),
    packages: (asked) => packagesAnswer(deps, asked),
    package: (asked) => packageAnswer(deps, asked),
    answer: async (asked) => answerAction(deps, await runs.find(asked.run), asked),
    retry: async (asked) => retryAction(await runs.find(asked.run), asked),
    pause: async ({ run }) => plainAction(await runs.find(run), "pause"),
    resume: async ({ run }) => plainAction(await runs.find(run), "resume"),
    cancel: async ({ run }) => plainAction(await runs.find(run), "cancel"),
    finish: async ({ run }) => plainAction(await runs.find(run), "finish"),
    raise: async (asked) => raiseAction(await runs.find(asked.run), asked),
    fork: async (asked) => forkAction(await runs.find(asked.run), asked),
    start: (asked) => startAction(deps, asked),
  };
}

/** Parses what a route is asked, and answers it. Throws a `PageRefusal`, or what the client throws. */
export async function answerRoute(answers: Answers, name: RouteName, asked: unknown): Promise<object> {
  const answer: (asked: never) => Promise<object> | object = answers[name];
  return answer(parseRequest(name, asked) as never); // by the schema of that route
}
