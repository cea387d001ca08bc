import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { buildProgram } from "../../src/cli/program.js";

const SRC = fileURLToPath(new URL("../../src", import.meta.url));

/** A command that somebody is told to type, with what follows it up to the end of its text. */
interface Hint {
  readonly place: string;
  readonly words: readonly string[];
}

/** Texts only: what a comment, a description or a summary says is no hint. */
function hintsIn(file: string): Hint[] {
  const lines = readFileSync(join(SRC, file), "utf8").split("\n");
  return lines.flatMap((line, index) => {
    if (/^\s*(?:\*|\/\*|\/\/)|\.description\(|ummary: /.test(line)) return [];
    return [...line.matchAll(/\binterlock ((?:\$\{[^}]*\}|(?!\binterlock )[^`"\n])+)/g)].map(
      ([, rest = ""]) => ({
        place: `${file}:${index + 1}`,
        words: rest.split(/[\s.;,)]+|<\//).filter((word) => word !== ""),
      }),
    );
  });
}

const program = buildProgram(() => undefined);
const commands = new Map(program.commands.map((command) => [command.name(), command]));
/** A word behind `interlock` that is none of its commands, in sentences about it; what the tab key asks is none that anybody types. */
const NO_COMMANDS = new Set(["asks", "where", "completion", "complete"]);

/** They speak of runs in general: of each that is watched, of each that is scheduled. */
const OF_EVERY_RUN = ["attest/statement.ts", "core/run/run-event.ts", "workflows/door.ts"];

const hints = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((file) => /\.tsx?$/.test(file))
  .flatMap(hintsIn)
  .filter(({ words: [name = ""] }) => !NO_COMMANDS.has(name) && !name.startsWith("$"));

/** What is wrong with a hint. */
function faultOf({ words: [name = "", second = "", third = ""], place }: Hint): readonly string[] {
  const family = commands.get(name);
  const command = family?.commands.find((each) => each.name() === second) ?? family;
  const isFamily = command !== undefined && command.commands.length > 0 && command.options.length === 0;
  if (command === undefined || isFamily) return [`${place}: ${name} is no command`];
  const argument = command.registeredArguments[0]?.name() ?? "";
  const isOfRun = /^run(?:$|Id)/.test(argument) && !OF_EVERY_RUN.includes(fileOf(place));
  const given = command === family ? second : third;
  return isOfRun && !/^(?:\$\{|<run)/.test(given) ? [`${place}: ${name} names no run`] : [];
}

function fileOf(place: string): string {
  return place.split(":")[0] ?? "";
}

describe("what somebody is told to type", () => {
  test("is found where it is said", () => expect(hints.length).toBeGreaterThan(50));

  test("is a command, and names the run that it is about", () => {
    expect(hints.flatMap(faultOf)).toEqual([]);
  });

  test("is interlock dev only where the embedded server is meant", () => {
    const places = hints
      .filter(({ words: [name] }) => name === "dev")
      .map(({ place }) => place.split(":")[0]);
    // Each of them looks first which Temporal it is, or says to whom it speaks.
    expect([...new Set(places)].toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual(
      KNOWS_WHICH_TEMPORAL,
    );
  });
});

const KNOWS_WHICH_TEMPORAL: readonly string[] = [
  "cli/commands/dev.ts",
  "cli/commands/inbox.ts",
  "cli/commands/runs.ts",
  "cli/commands/stores.ts",
  "cli/follow/follow-and-report.ts",
  "cli/serve/start-page.ts",
  "cli/session/run-folder.ts",
  "cli/session/standstill-words.ts",
  "cli/session/web-link.ts",
  "doctor/check-temporal.ts",
];
