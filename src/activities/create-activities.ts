import { Context } from "@temporalio/activity";
import type { Activities, ToolCallInput } from "../contract/activities.js";
import { failpoint } from "../core/failpoint.js";
import { unwrap } from "./failures.js";
import { type ModelTurnDeps, modelTurn } from "./model-turn.js";
import { openRun, recordPhase, recordUserInput } from "./run-records.js";
import { openFiles } from "./run-scope.js";
import { runTool } from "./run-tool.js";

/** How often a model call tells Temporal that it is alive. Well below its heartbeat timeout. */
const HEARTBEAT_MS = 1_500;

/** Temporal's skin around store, tools and model. */
export function createActivities(deps: ModelTurnDeps): Activities {
  const { store } = deps;
  const tool = (input: ToolCallInput) => runTool(deps, input);
  const activities: Activities = {
    "fs.list": tool,
    "fs.read": tool,
    "fs.search": tool,
    "fs.write": tool,
    "fs.apply_patch": tool,
    "state.record": tool,
    "tool.refuse": tool,
    "state.persist": tool,
    "run.open": (input) => openRun(store, input),
    async "state.load"({ run }) {
      const document = unwrap(await (await openFiles(store, run)).state.read());
      return { frontmatter: document.frontmatter, sha256: document.sha256 };
    },
    async "model.turn"(input) {
      const files = await openFiles(store, input.run);
      const context = Context.current();
      const heartbeat = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
      try {
        return await modelTurn(deps, files, input, context);
      } finally {
        clearInterval(heartbeat);
      }
    },
    async "state.snapshot"(input) {
      const { graphState } = await openFiles(store, input.run);
      await graphState.keep(input, input.boundary);
    },
    "user.input": (input) => recordUserInput(store, input),
    "run.phase": (input) => recordPhase(store, input),
  };
  return Object.fromEntries(
    Object.entries(activities).map(([name, activity]) => [name, withFailpoints(activity)]),
  ) as unknown as Activities; // the same names and types
}

function withFailpoints(activity: (input: never) => Promise<unknown>): (input: never) => Promise<unknown> {
  return async (input) => {
    failpoint("activity.begun");
    const result = await activity(input);
    failpoint("activity.before-report");
    return result;
  };
}
