// Fuzzes the tools, the state document and the packages for a bounded time; see test/fuzz/.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const USAGE = "Usage: npm run fuzz -- [--seconds 60] [--seed N] [--property NAME]";

function fail(message) {
  console.error(`${message}\n${USAGE}`);
  process.exit(2);
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: { seconds: { type: "string" }, seed: { type: "string" }, property: { type: "string" } },
    });
    return values;
  } catch (error) {
    return fail(error.message);
  }
}

const { seconds = "60", seed, property } = readOptions();
if (!/^[1-9]\d{0,5}$/.test(seconds)) fail("--seconds is a whole number.");
if (seed !== undefined && !/^\d{1,9}$/.test(seed)) fail("--seed is a number of at most nine digits.");

const root = fileURLToPath(new URL("..", import.meta.url));
const vitest = fileURLToPath(new URL("../node_modules/vitest/vitest.mjs", import.meta.url));
const { status } = spawnSync(process.execPath, [vitest, "run", "--config", "vitest.fuzz.config.ts"], {
  cwd: root,
  stdio: "inherit",
  env: {
    ...process.env,
    INTERLOCK_FUZZ_SECONDS: seconds,
    ...(seed === undefined ? {} : { INTERLOCK_FUZZ_SEED: seed }),
    ...(property === undefined ? {} : { INTERLOCK_FUZZ_PROPERTY: property }),
  },
});
process.exit(status ?? 1);
