import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { buildProgram } from "../../src/cli/program.js";
import { InterlockClient, RunHandle } from "../../src/client/client.js";
import { StateRecordSchema } from "../../src/core/graph-state/record.js";
import { SETTINGS_KEYS, readSettings } from "../../src/settings-file.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const pages = ["README.md", ...readdirSync(join(ROOT, "docs")).map((name) => `docs/${name}`)]
  .filter((name) => name.endsWith(".md"))
  .map((page) => ({ page, text: read(page) }));
const program = buildProgram(() => undefined);

function blocksOf(text: string, language: string): readonly string[] {
  const fence = new RegExp(`^\`\`\`(?:${language})\\n([^]*?)^\`\`\`$`, "gm");
  return [...text.matchAll(fence)].map(([, block = ""]) => block);
}

const LABEL = /^interlock-temporal (?:signed starts|sealed payload) v1\b/;

/** Each call of `interlock` that a page shows, in a block or within a sentence: the words behind it. */
function callsIn(text: string): readonly string[] {
  const typed = blocksOf(text, "sh|console|")
    .flatMap((block) => block.replaceAll("\\\n", " ").split("\n"))
    .filter((line) => /^(?:\$ |npx |interlock |docker |\w+=\S+ )/.test(line));
  const named = [...text.replaceAll(/^```[^]*?^```$/gm, "").matchAll(/`([^`]+)`/g)].map(
    ([, span = ""]) => span,
  );
  return [...typed, ...named.filter((span) => !LABEL.test(span))].flatMap((line) =>
    [...line.matchAll(/(?:^|[\s(])interlock(?:-temporal)? ((?:"[^"]*"|[^"#;|&)])*)/g)].map(([, call = ""]) =>
      call.trim(),
    ),
  );
}

function optionsOf({ options }: Command): readonly string[] {
  return options.flatMap(({ long, hidden }) => (typeof long !== "string" || hidden ? [] : [long]));
}

/** What such a call has a reader type that is not there: a command, or an option of it. */
function unknownIn(call: string): readonly string[] {
  let command = program;
  const words = call.split(/\s+/);
  const next = () => command.commands.find((each) => each.name() === words[0]);
  for (let below = next(); below !== undefined; below = next()) {
    command = below;
    words.shift();
  }
  const [first = ""] = words;
  if (command === program) return /^[a-z]+$/.test(first) ? [first] : [];
  return words
    .map((word) => /^\[?(--[a-z][\w-]*)/.exec(word)?.[1] ?? "")
    .filter((option) => option !== "" && !optionsOf(command).includes(option))
    .map((option) => `${command.name()} ${option}`);
}

/** The commands below one, each as it is called. */
function commandsBelow(command: Command, called = ""): readonly (readonly [string, Command])[] {
  return command.commands.flatMap((below) => {
    const name = `${called}${below.name()}`;
    return [[name, below] as const, ...commandsBelow(below, `${name} `)];
  });
}

describe("what README and docs have a reader type", () => {
  test.each(pages)("$page: each command is there, and has its options", ({ text }) => {
    expect(callsIn(text).flatMap(unknownIn)).toEqual([]);
  });

  test("a command, an option of none and that of another one are seen", () => {
    const text =
      "`interlock rum x`\n```sh\nnpx interlock runs --all # --no\n$ interlock run p [--at <n>]\n```\n";
    expect(callsIn(text).flatMap(unknownIn)).toEqual(["runs --all", "run --at", "rum"]);
  });

  test("each command and each of its options is told of", () => {
    const told = new Set(pages.flatMap(({ text }) => text.match(/(?<![\w-])--[a-z][\w-]*/g) ?? []));
    const all = pages.map(({ text }) => text).join("\n");
    const untold = commandsBelow(program).flatMap(([name, command]) => [
      ...(command.commands.length > 0 || new RegExp(`(?:interlock |run |\`)${name}\\b`).test(all)
        ? []
        : [name]),
      ...optionsOf(command).filter((option) => !told.has(option)),
    ]);
    expect(untold).toEqual([]);
  });
});

test("the help of commands about bundles names no package, which they do not have", () => {
  const bundles = commandsBelow(program).filter(([name]) => name.startsWith("bundle "));
  expect(bundles.length).toBeGreaterThan(2);
  const told = bundles.flatMap(([, { options }]) => options.map(({ description }) => description));
  expect(told.filter((words) => /\bpackage/.test(words))).toEqual([]);
});

describe("JSON in README and docs", () => {
  const json = pages.flatMap(({ page, text }) =>
    blocksOf(text, "json").map((block) => ({
      page,
      block,
      value: JSON.parse(block) as Record<string, unknown>,
    })),
  );

  test("that has keys of the settings file is a settings file", () => {
    const settings = json.filter(({ value }) =>
      Object.keys(value).every((key) => SETTINGS_KEYS.includes(key)),
    );
    expect(new Set(settings.map(({ page }) => page)).size).toBeGreaterThanOrEqual(6);
    const dir = mkdtempSync(join(tmpdir(), "settings-"));
    const file = join(dir, "settings.json");
    for (const { block } of settings) {
      writeFileSync(file, block);
      expect(() => readSettings(file, dir)).not.toThrow();
    }
    rmSync(dir, { recursive: true });
  });

  test("that is a notice, or a record of a story, fits its schema", () => {
    const notices = json.filter(({ value }) => String(value["type"]).startsWith("run."));
    const isNotice = new Ajv2020({ strict: false, validateFormats: false }).compile(
      JSON.parse(read("schemas/notices.schema.json")) as object,
    );
    expect(notices.map(({ value }) => [isNotice(value), isNotice.errors])).toEqual([[true, null]]);
    const records = json.filter(({ value }) => "gateDecisions" in value);
    expect(records.map(({ value }) => StateRecordSchema.safeParse(value).success)).toEqual([true]);
  });
});

test("the methods that docs/operating.md names beside commands are there", () => {
  const table = read("docs/operating.md").matchAll(
    /^\| `[^|]*(?:\\\|[^|]*)*\| [^|]*(?:\\\|[^|]*)*\| (.+) \|$/gm,
  );
  const named = [...table].flatMap(([, cell = ""]) => [...cell.matchAll(/(client|run)?\.(\w+)\(/g)]);
  expect(named.length).toBeGreaterThan(10);
  const missing = named.filter(
    ([, of, method = ""]) => !(method in (of === "client" ? InterlockClient : RunHandle).prototype),
  );
  expect(missing.map(([text]) => text)).toEqual([]);
});
