import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { buildProgram } from "../../src/cli/program.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { openBench, until, writeTree } from "./harness.js";
import { ROOT, type Shell, shellOf } from "./shell.js";

const LINES = join(ROOT, "test/fakes/command-lines.mjs");
const BUNDLE = join(ROOT, "examples/reading-room/bmad/desk");

/** Every command with arguments that make it say something; those that serve are refused, and say so. */
const commandLines = (run: string, packageId: string): Readonly<Record<string, readonly string[]>> => ({
  demo: ["--unknown"],
  dev: [],
  worker: ["--unknown"],
  run: ["package", "--project", "project", "--no-wait-for-answers"],
  runs: ["--limit", "5"],
  "runs prune": ["--keep", "100"],
  "store gc": ["--dry-run"],
  watch: [run],
  compare: [run, run],
  inbox: [],
  stores: [],
  "store backup": ["backup"],
  "store restore": ["backup", "--to", "none/restored"],
  "store name": [],
  status: [run],
  transcript: [run, "--results"],
  artifacts: [run],
  state: [run],
  answer: [run, "--node", "none", "text"],
  "audit verify": [run],
  attest: [run],
  "attest verify": ["none.json", "--key", "none.pem"],
  doctor: ["--no-models"],
  ui: ["--unknown"],
  "codec-server": ["--unknown"],
  "notify test": [],
  pause: [run],
  resume: [run],
  finish: [run],
  cancel: [run],
  retry: [run, "--no-wait-for-answers"],
  restore: ["--all"],
  budget: [run, "--add-turns", "1"],
  fork: [run, "--at-visit", "0", "--no-wait-for-answers"],
  replay: [run],
  export: [run],
  "project add": ["project"],
  "project list": [],
  "project remove": ["nowhere"],
  "package check": ["package"],
  "package import": [join(ROOT, "examples")],
  "package new": ["tea", "--gate"],
  "package graph": ["package"],
  "package pack": ["package"],
  "package test": ["package"],
  "package list": [],
  "package install": ["package"],
  "package show": [packageId],
  "package remove": [packageId],
  "bundle run": [join(BUNDLE, "workflows/none.yaml"), "--project", "project"],
  "bundle list": [BUNDLE],
  "bundle check": [BUNDLE],
});

function leaves(command: Command): string[] {
  const below = command.commands.flatMap((each) => leaves(each).map((name) => `${command.name()} ${name}`));
  return command.commands.length === 0 || command.options.length > 0 ? [command.name(), ...below] : below;
}

/** A shell in which all commands have something to speak of, and the file that lists them. */
async function furnished() {
  const bench = await openBench(() => ({ content: "Which way?" }));
  const shell = shellOf(bench);
  await writeTree(join(shell.dir, "package"), twoNodePackage());
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  const [{ packageId } = { packageId: "" }] = await bench.store.packages.list();
  const lines = Object.entries(commandLines(run.runId, packageId)).map(([name, args]) => [
    ...name.split(" "),
    ...args,
  ]);
  await writeFile(join(shell.dir, "lines.json"), JSON.stringify([["--help"], ...lines]));
  return { shell, count: lines.length + 1 };
}

/** Runs all of them in one process, and returns what it has said and how each command has ended. */
async function runAll(
  { shell, count }: { readonly shell: Shell; readonly count: number },
  variables: Record<string, string>,
  wrap: (command: readonly string[]) => readonly [string, readonly string[]],
) {
  const codes = join(shell.dir, "codes.json");
  const [program, args] = wrap([process.execPath, LINES, join(shell.dir, "lines.json"), codes]);
  const env = { ...shell.environment, TERM: "xterm-256color", ...variables };
  const child = spawn(program, args, { env, cwd: shell.dir, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => (said += chunk.toString("utf8")));
  }
  await once(child, "close");
  const ended = JSON.parse(await readFile(codes, "utf8")) as [string, number][];
  expect(ended).toHaveLength(count);
  return { said, ended, code: child.exitCode };
}

const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(" ");
/** `script` gives a command a terminal. */
const inTerminal = (command: readonly string[]) =>
  process.platform === "linux"
    ? (["script", ["-qfec", quoted(command), "/dev/null"]] as const)
    : (["script", ["-q", "/dev/null", ...command]] as const);
/** A reader that is gone before the first word. */
const intoNobody = (command: readonly string[]) =>
  ["bash", ["-c", `{ sleep 0; ${quoted(command)}; echo "code $?" >&2; } | exec true`]] as const;

const ESCAPE = "\u001B";

describe("every command", () => {
  test("has its line here", () => {
    const all = buildProgram(() => undefined).commands.flatMap(leaves);
    expect(Object.keys(commandLines("", "")).toSorted()).toEqual(all.toSorted());
  });

  test(
    "redraws and colours nothing in a terminal that takes only text, and colours nothing with NO_COLOR",
    { tags: "slow" },
    async () => {
      const place = await furnished();
      const plain = await runAll(place, { TERM: "dumb" }, inTerminal);
      expect(plain.said.split("\n").filter((line) => line.includes(ESCAPE))).toEqual([]);
      expect(plain.said).toContain("The run asks, at ask:");
      const colourless = await runAll(place, { NO_COLOR: "1" }, inTerminal);
      expect(colourless.said).toContain(ESCAPE); // it is redrawn
      const colours = new RegExp(`${ESCAPE}\\[[\\d;]*m`);
      expect(colourless.said.split("\n").filter((line) => colours.test(line))).toEqual([]);
    },
  );

  test("ends without a word where nobody reads its output", async () => {
    const { said } = await runAll(await furnished(), {}, intoNobody);
    expect(said).not.toMatch(/EPIPE|^\s+at |Error:/m);
    expect(said).toContain("code 141");
  });
});
