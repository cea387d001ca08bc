import { SHORT_NODES, openStage } from "./stage.js";
import { commandLine, positionals } from "./usage.js";

/**
 * What it costs to be watched: walks of a worker with metrics beside walks of one without, in turn on the same server, and the
 * ratio of each pair. Prints the median.
 */
const PAIRS = 15;
const WARM_UP = 3;

commandLine("Usage: npm run bench:instruments", (args) => positionals(args, 0));

const plain = await openStage({ directory: undefined, cpuProfile: undefined });
const measured = await openStage({ directory: undefined, cpuProfile: undefined, metrics: "127.0.0.1:0" });
try {
  const ratios: number[] = [];
  for (let pair = -WARM_UP; pair < PAIRS; pair += 1) {
    const [without, withMetrics] = [await walkOn(plain), await walkOn(measured)];
    if (pair >= 0) ratios.push(withMetrics / without);
  }
  const sorted = ratios.toSorted((a, b) => a - b);
  const [low, middle, high] = [0.1, 0.5, 0.9].map((part) => sorted[Math.floor(part * PAIRS)]?.toFixed(2));
  process.stdout.write(
    `A walk with metrics takes ${middle} of one without (${low} to ${high}, ${PAIRS} pairs)\n`,
  );
} finally {
  await measured.close();
  await plain.close();
}

async function walkOn(stage: typeof plain): Promise<number> {
  const [project = ""] = await stage.makeProjects(1);
  return (await stage.walk({ nodes: SHORT_NODES, project })).milliseconds;
}
