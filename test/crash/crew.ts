import { join } from "node:path";
import { loadConfig } from "../../src/config.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import { type RunningWorker, startWorker } from "../../src/worker.js";
import type { Place } from "../fakes/place.js";
import type { ArmedBuild, Victim } from "./armed-build.js";
import type { Arming } from "./armed-failpoint.js";

/** The workers of a case. */
export interface Crew {
  readonly hitsFile: string;
  readonly victims: readonly Victim[];
  /** Starts a worker of the armed build. */
  startVictim(at?: Arming["at"]): Promise<Victim>;
  /** Starts a worker that nothing happens to, by the settings as they are then. */
  startSuccessor(): Promise<void>;
  /** Ends the runs, then the workers. */
  end(runs: readonly { readonly runId: string }[]): Promise<void>;
}

export function crewOf({ dir, environment, client }: Place, build: ArmedBuild): Crew {
  const hitsFile = join(dir, "hits");
  const victims: Victim[] = [];
  const successors: RunningWorker[] = [];
  return {
    hitsFile,
    victims,
    async startVictim(at) {
      const victim = await build.startWorker(environment, { hitsFile, ...(at === undefined ? {} : { at }) });
      victims.push(victim);
      return victim;
    },
    async startSuccessor() {
      const connection = { address: environment["TEMPORAL_ADDRESS"] ?? "" };
      const { workflowBundle } = build;
      const config = loadConfig(environment);
      successors.push(await startWorker(config, { connection, namespace: "default", workflowBundle }));
    },
    async end(runs) {
      for (const { runId } of runs) {
        await client.temporal.workflow
          .getHandle(workflowIdOf(runId))
          .terminate()
          .catch(() => undefined);
      }
      await Promise.all([
        ...victims.map((victim) => victim.end()),
        ...successors.map((worker) => worker.shutdown()),
      ]);
    },
  };
}
