import { setTimeout as pause } from "node:timers/promises";
import type { Disk } from "./disk.js";
import type { Random } from "./random.js";
import type { MortalServer } from "./server.js";
import type { Troupe } from "./troupe.js";

/** What it does, and how often beside the others. */
const DEEDS = [
  { what: "kill a worker", weight: 10 },
  { what: "stop a worker", weight: 8 },
  { what: "restart the server", weight: 2 },
  { what: "fill the disk", weight: 3 },
  { what: "make the disk read-only", weight: 3 },
] as const;
type Deed = (typeof DEEDS)[number]["what"];

export interface Stage {
  readonly random: Random;
  readonly troupe: Troupe;
  readonly server: MortalServer;
  readonly disk: Disk;
  /** How many workers were stopped: every other one past its heartbeat. */
  stops: number;
}

/** Troubles the stage until it is told to stop; leaves the server up and the disk free. Gives what it did, by kind. */
export async function monkey(stage: Stage, until: AbortSignal): Promise<ReadonlyMap<string, number>> {
  const { random } = stage;
  const figures = new Map<string, number>();
  // Each kind happens once, however short the time is.
  const first: Deed[] = [...DEEDS.map(({ what }) => what), "stop a worker"];
  while (!until.aborted) {
    await pause(random.between(300, 2_500));
    if (until.aborted) break;
    await act(first.shift() ?? choose(random), stage, figures);
  }
  return figures;
}

function choose(random: Random): Deed {
  let left = random.next() * DEEDS.reduce((sum, { weight }) => sum + weight, 0);
  for (const { what, weight } of DEEDS) {
    left -= weight;
    if (left < 0) return what;
  }
  return "kill a worker";
}

async function act(deed: Deed, stage: Stage, figures: Map<string, number>): Promise<void> {
  const { random, troupe, server, disk } = stage;
  switch (deed) {
    case "kill a worker":
      return troupe.killOne();
    case "stop a worker":
      stage.stops += 1;
      return troupe.stopOne(
        stage.stops % 2 === 1 ? random.between(6_500, 12_000) : random.between(100, 5_000),
      );
    case "restart the server":
      await server.kill();
      await pause(random.between(0, 3_000));
      await server.start();
      break;
    case "fill the disk":
      await disk.fill(troupe.pids);
      await pause(random.between(500, 5_000));
      await disk.free();
      break;
    case "make the disk read-only":
      if (!(await disk.freeze())) return;
      await pause(random.between(500, 5_000));
      await disk.free();
      break;
  }
  figures.set(deed, (figures.get(deed) ?? 0) + 1);
}
