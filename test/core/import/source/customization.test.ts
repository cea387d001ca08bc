import { expect, test } from "vitest";
import { type Texts, importOf, page, said } from "../step-files.js";

const SKILL = "kit/skills/brew/SKILL.md";

/** A skill with these layers of its customisation, and what is made of its lines. */
function brewed(layers: Texts, ...lines: readonly string[]) {
  return importOf(
    {
      [SKILL]: page({ name: "brew", description: "x" }, ...lines),
      "kit/skills/brew/assets/pot.md": "# Pot\n",
      ...layers,
    },
    SKILL,
  );
}

const BASE = "kit/skills/brew/customize.toml";
const TEAM = "kit/_bmad/custom/brew.toml";
const USER = "kit/_bmad/custom/brew.user.toml";
const resolved = (imported: ReturnType<typeof importOf>): unknown =>
  JSON.parse(imported.files.get("customization.json") ?? "null");

test("three layers are merged: tables deeply, lists one after the other, tables in lists by code or id", () => {
  const imported = brewed(
    {
      [BASE]: `[workflow]\npot = "assets/pot.md"\nheat = 80\nfacts = ["a"]\nnested.one = 1\nnested.two = 2
[[workflow.kinds]]\ncode = "g"\nname = "Green"\n[[workflow.kinds]]\ncode = "b"\nname = "Black"
[[workflow.layers]]\nid = "x"\ntext = '''\nLines\nof text'''\n[[workflow.mixed]]\ncode = "m"\n`,
      [TEAM]: `[workflow]\r\nheat = 90\r\nfacts = ["b", "a"]\r\nnested.two = 3\r\n[[workflow.kinds]]\r\ncode = "b"\r\nname = "Earl"\r\n`,
      [USER]: `\ufeff[[workflow.kinds]]\ncode = "w"\nname = "White"\n[[workflow.mixed]]\nname = "no code"\n[workflow]\nwhen = 2026-11-24\n`,
    },
    "Use {workflow.pot} at {workflow.heat} degrees, {workflow.nested.two} times; mind {workflow.facts} and {workflow.none}.",
  );
  expect(resolved(imported)).toEqual({
    workflow: {
      pot: "@pkg/assets/pot.md",
      heat: 90,
      facts: ["a", "b", "a"],
      nested: { one: 1, two: 3 },
      kinds: [
        { code: "g", name: "Green" },
        { code: "b", name: "Earl" },
        { code: "w", name: "White" },
      ],
      layers: [{ id: "x", text: "Lines\nof text" }],
      mixed: [{ code: "m" }, { name: "no code" }],
      when: "2026-11-24",
    },
  });
  expect(imported.files.get("steps/workflow.md")).toContain(
    "Use @pkg/assets/pot.md at 90 degrees, 3 times; mind {workflow.facts} and {workflow.none}.",
  );
  expect(imported.files.get("agents.json")).toContain("@pkg/customization.json");
  expect(imported.configFiles).toEqual([BASE, TEAM, USER]);
  expect(said(imported)).toEqual([
    `warning ${SKILL}:5 names {workflow.none}, which no layer of its customisation has: it is left to the model`,
  ]);
});

test("the central configuration has four layers, and what stands in braces of any form is filled in", () => {
  const imported = brewed(
    {
      "kit/_bmad/config.toml":
        '[core]\nuser_name = "Ann"\noutput_folder = "{project-root}/out"\n[modules.leaf]\nshelf = "{output_folder}/shelf"\nkind = "a"\n[modules.other]\nkind = "b"\n[agents.x]\nuser_name = "Mary"\n',
      "kit/_bmad/config.user.toml": '[core]\nuser_name = "Bo"\n',
      "kit/_bmad/custom/config.toml": '[core]\nuser_name = "Cy"\n',
      "kit/_bmad/custom/config.user.toml": '[core]\nuser_name = "Di"\n',
    },
    "{{.user_name}}, {user_name} and {{config.core.user_name}} write {{.shelf}}/x.md, {output_folder}/y.md, {{.kind}} and {{.gone}}. See `docker ps --format '{{.Names}}'`.",
  );
  expect(imported.files.get("steps/workflow.md")).toContain(
    "Di, Di and Di write @project/out/shelf/x.md, @project/out/y.md, {{.kind}} and {{.gone}}.",
  );
  expect(said(imported)).toEqual([
    `warning ${SKILL}:5 names {{.kind}}, which the configuration has as "a" and "b": it is left to the model`,
    `warning ${SKILL}:5 names {{.gone}}, which no configuration has: it is left to the model`,
  ]);
});

test("a layer that is no TOML is said with its line, and the others count", () => {
  const imported = brewed(
    {
      [BASE]: "[workflow]\nheat = 80\n",
      [TEAM]: "[workflow]\nheat = 90\nheat = 95\n",
      [USER]: "[workflow\n",
    },
    "Heat to {workflow.heat}.",
  );
  expect(imported.files.get("steps/workflow.md")).toContain("Heat to 80.");
  expect(said(imported)).toEqual([
    expect.stringMatching(
      /^warning kit\/_bmad\/custom\/brew\.toml:3 is no TOML \(.+\): this layer was left out$/,
    ),
    expect.stringMatching(
      /^warning kit\/_bmad\/custom\/brew\.user\.toml:1 is no TOML \(.+\): this layer was left out$/,
    ),
  ]);
});

test.each([
  ["a key that objects have", '[workflow]\n__proto__ = "x"\nconstructor.prototype = "y"\n'],
  ["values without end", `[workflow]\nmany = [${"1,".repeat(40_000)}]\n`],
  ["lists in lists", `[workflow]\ndeep = ${"[".repeat(3_000)}${"]".repeat(3_000)}\n`],
  [
    "a table in a list with a code that is no text",
    "[[workflow.kinds]]\ncode = 1\n[[workflow.kinds]]\ncode = 1\n",
  ],
])("a customisation with %s does no harm", (_what, toml) => {
  const imported = brewed({ [BASE]: toml }, "Brew.");
  expect(imported.files.has("workflow.md")).toBe(true);
  expect(Object.hasOwn(Object.prototype, "x")).toBe(false);
});

test("a skill without layers has no customisation, and its own file of that name stays", () => {
  const imported = brewed({ "kit/skills/brew/customization.json": "{}" }, "Brew.");
  expect(imported.files.get("customization.json")).toBe("{}");
  expect(imported.files.get("agents.json")).not.toContain("customization.json");
});

test("references have what has a dot in its name filled in, and stay as they are else", () => {
  const line =
    "At {workflow.heat} in {{.shelf}}: {workflow.facts}, {{.gone}}, {user_name}, `./pot.md`, {{title}}\n";
  const imported = brewed(
    {
      [BASE]: '[workflow]\nheat = 80\nfacts = ["a"]\n',
      "kit/_bmad/config.toml": '[core]\nshelf = "{project-root}/shelf"\nuser_name = "Ann"\n',
      "kit/skills/brew/references/heat.md": line,
      "kit/skills/brew/references/heat.yaml": line,
    },
    "Read `references/heat.md`.",
  );
  expect(imported.files.get("references/heat.md")).toBe(
    "At 80 in @project/shelf: {workflow.facts}, {{.gone}}, {user_name}, `./pot.md`, {{title}}\n",
  );
  expect(imported.files.get("references/heat.yaml")).toBe(line);
});
