// Fuzzes the tools, the state document and the packages for a bounded time; see test/fuzz/.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { WrongUsage, commandLine, expectKnown, namesIn } from "./usage.mjs";

const USAGE = "Usage: npm run fuzz -- [--seconds 60] [--seed N] [--property NAME]";

const { seconds, seed, property } = commandLine(USAGE, (args) => {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: "string", default: "60" },
      seed: { type: "string" },
      property: { type: "string" },
    },
  });
  if (!/^[1-9]\d{0,5}$/.test(values.seconds)) {
    throw new WrongUsage("--seconds is a whole number above 0, of at most six digits.");
  }
  if (values.seed !== undefined && !/^\d{1,9}$/.test(values.seed)) {
    throw new WrongUsage("--seed is a number of at most nine digits.");
  }
  if (values.property !== undefined) expectKnown("property", values.property, namesIn("test/fuzz"));
  return values;
});

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
