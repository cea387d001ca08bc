// Troubles workers, server, model and disk while runs go on, and checks what became of them; see test/chaos/.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const USAGE =
  "Usage: npm run chaos -- [--runs 200] [--minutes 5] [--seed TEXT] [--workers 4] [--keep] [--no-mount]\n" +
  "       npm run chaos -- --check DIRECTORY\n" +
  "       npm run chaos -- --mutants [NAME,…]";

function fail(message) {
  console.error(`${message}\n${USAGE}`);
  process.exit(2);
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        runs: { type: "string", default: "200" },
        minutes: { type: "string", default: "5" },
        workers: { type: "string", default: "4" },
        seed: { type: "string", default: String(Date.now() % 1_000_000) },
        "no-mount": { type: "boolean", default: false },
        keep: { type: "boolean", default: false },
        check: { type: "string", default: "" },
        mutants: { type: "boolean", default: false },
      },
      allowPositionals: true,
    });
  } catch (error) {
    return fail(error.message);
  }
}

const { values, positionals } = readOptions();
if (!/^[1-9]\d{0,4}$/.test(values.runs)) fail("--runs is a whole number.");
if (!/^[1-9]\d?$/.test(values.workers)) fail("--workers is a whole number.");
if (!/^\d{1,3}(\.\d+)?$/.test(values.minutes) || Number(values.minutes) === 0) fail("--minutes is a number.");
if (!/^[\w.-]{1,40}$/.test(values.seed)) fail("--seed is a word of at most 40 characters.");
if (positionals.length > 0 && !values.mutants) fail(`"${positionals[0]}" is no option.`);

const root = fileURLToPath(new URL("..", import.meta.url));
const vitest = fileURLToPath(new URL("../node_modules/vitest/vitest.mjs", import.meta.url));
const run = (args, env = {}) => {
  const { status } = spawnSync(process.execPath, args, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...env },
  });
  if (status !== 0) process.exit(status ?? 1);
};
run([fileURLToPath(new URL("build.mjs", import.meta.url))]); // workers run the bundle of workflow code in dist/
const file = values.mutants ? "mutants.run.ts" : "chaos.run.ts";
run([vitest, "run", "--config", "vitest.chaos.config.ts", file], {
  INTERLOCK_CHAOS_RUNS: values.runs,
  INTERLOCK_CHAOS_MINUTES: values.minutes,
  INTERLOCK_CHAOS_WORKERS: values.workers,
  INTERLOCK_CHAOS_SEED: values.seed,
  INTERLOCK_CHAOS_KEEP: String(values.keep),
  INTERLOCK_CHAOS_MOUNT: String(!values["no-mount"]),
  INTERLOCK_CHAOS_CHECK: values.check,
  INTERLOCK_CHAOS_MUTANTS: positionals.join(","),
});
