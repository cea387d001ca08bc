// Troubles workers, server, model and disk while runs go on, and checks what became of them; see test/chaos/.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { WrongUsage, commandLine, expectKnown, namesIn } from "./usage.mjs";

const USAGE =
  "Usage: npm run chaos -- [--runs 200] [--minutes 5] [--seed TEXT] [--workers 4] [--keep] [--no-mount] [--beside DIRECTORY,…]\n" +
  "       npm run chaos -- --check DIRECTORY\n" +
  "       npm run chaos -- --mutants [NAME,…]";

const OPTIONS = {
  runs: { type: "string", default: "200" },
  minutes: { type: "string", default: "5" },
  workers: { type: "string", default: "4" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  "no-mount": { type: "boolean", default: false },
  keep: { type: "boolean", default: false },
  beside: { type: "string", default: "" },
  check: { type: "string" },
  mutants: { type: "boolean", default: false },
};

function expectThat(isSo, sentence) {
  if (!isSo) throw new WrongUsage(sentence);
}

const { values, check, mutants, beside } = commandLine(USAGE, (args) => {
  const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
  const { runs, workers, minutes, seed } = values;
  expectThat(/^[1-9]\d{0,4}$/.test(runs), "--runs is a whole number above 0, of at most five digits.");
  expectThat(/^[1-9]\d?$/.test(workers), "--workers is a whole number from 1 to 99.");
  expectThat(
    /^\d{1,3}(\.\d+)?$/.test(minutes) && Number(minutes) > 0,
    "--minutes is a number above 0, below 1000.",
  );
  expectThat(/^[\w.-]{1,40}$/.test(seed), "--seed is a word of at most 40 characters.");
  expectThat(positionals.length === 0 || values.mutants, `"${positionals[0]}" is no option.`);
  expectThat(!values.mutants || values.check === undefined, "--check and --mutants do not go together.");
  const mutants = positionals.flatMap((names) => names.split(",")).filter((name) => name !== "");
  for (const name of mutants) expectKnown("mutant", name, namesIn("test/chaos/mutants.ts"));
  const check = values.check === undefined ? "" : resolve(values.check);
  expectThat(
    check === "" || existsSync(join(check, "evidence.json")),
    `${check} holds no evidence of a chaos run. Name a directory that --keep or a failure has left.`,
  );
  const beside = values.beside.split(",").flatMap((dir) => (dir === "" ? [] : [resolve(dir)]));
  for (const dir of beside) {
    expectThat(
      existsSync(join(dir, "dist/cli/main.js")),
      `${dir} holds no build: name a checkout with its dist/.`,
    );
  }
  return { values, check, mutants, beside };
});

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
  INTERLOCK_CHAOS_BESIDE: beside.join(","),
  INTERLOCK_CHAOS_CHECK: check,
  INTERLOCK_CHAOS_MUTANTS: mutants.join(","),
});
