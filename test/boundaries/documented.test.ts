import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { buildProgram } from "../../src/cli/program.js";
import { InterlockClient, RunHandle } from "../../src/client/client.js";
import { notificationsSchema } from "../../src/core/notify/webhooks.js";
import { StateRecordSchema } from "../../src/core/graph-state/record.js";
import { DIALECT_NAMES, dialectSettingSchema } from "../../src/model/dialects.js";
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

/** The fields of a schema, as they stand in its JSON Schema, each with the words that it may be. */
function fieldsOf(schema: z.ZodType): readonly (readonly [field: string, words: readonly string[]])[] {
  const found: [string, readonly string[]][] = [];
  const look = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return;
    for (const [key, below] of Object.entries(part)) {
      if (key !== "properties") look(below);
      else
        for (const [field, form] of Object.entries(below as Record<string, object>)) {
          found.push([
            field,
            [...new Set(JSON.stringify(form).match(/(?<="enum":\[)[^\]]*/g))].flatMap(wordsIn),
          ]);
          look(form);
        }
    }
  };
  look(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }));
  return found;
}

const wordsIn = (list: string): readonly string[] =>
  [...list.matchAll(/"([^"]*)"/g)].map(([, word = ""]) => word);

/** What the row of a table about a field says. */
function rowOf(page: string, field: string): string {
  return (
    read(page)
      .split("\n")
      .find((line) => line.startsWith("| ") && line.split("|")[1]?.includes(`\`${field}\``)) ?? ""
  );
}

test.each([
  ["docs/models.md", dialectSettingSchema],
  ["docs/notifications.md", notificationsSchema],
])("%s has every field of its settings, with all that it may be", (page, schema) => {
  const fields = fieldsOf(schema).filter(([field]) => field !== "webhooks" && field !== "name");
  expect(fields.length).toBeGreaterThan(8);
  const untold = fields.flatMap(([field, words]) => {
    const row = rowOf(page, field);
    if (row === "") return [field];
    return words.filter((word) => !row.includes(`\`${word}\``)).map((word) => `${field}: ${word}`);
  });
  expect(untold).toEqual([]);
});

test("docs/models.md tells of every dialect", () => {
  const told = read("docs/models.md");
  expect(DIALECT_NAMES.filter((name) => !told.includes(`\`${name}\``))).toEqual([]);
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
