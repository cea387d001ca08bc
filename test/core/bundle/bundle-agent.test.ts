import { describe, expect, test } from "vitest";
import {
  agentOfPackage,
  agentOfYaml,
  pathsToLoad,
  pickCommand,
  readAgentMarkup,
} from "../../../src/core/bundle/bundle-agent.js";
import { agent as packageAgent } from "../../fakes/package-fixture.js";
import { agentSchema } from "../../../src/core/package/schemas.js";
import { valueOf } from "../../fakes/run-world.js";

const OLDER = `
# An agent
<agent id="x" name="Iris" title="Desk & more" icon="📚">
  <persona>
    <role>Asks <b>well</b> &amp; listens</role>
    <identity>Old
      hand</identity>
    <communication_style>Quiet</communication_style>
    <principles>One text</principles>
  </persona>
  <critical-actions>
    <i>Load into memory {bundle-root}/config.yaml and set x</i>
    <i>Be kind</i>
  </critical-actions>
  <cmds>
    <c cmd="*help">Show
      this</c>
    <c cmd="*intake" note="a > b" run-workflow="{bundle-root}/workflows/intake/workflow.yaml">Take a request</c>
    <c cmd="*later" run-workflow="todo">Not yet</c>
  </cmds>
</agent>`;

const NEWER = `\`\`\`xml
<agent name='Max' title=''>
<activation critical="MANDATORY">
  <step n="1">Load persona</step>
  <step n="2">Load and read {project-root}/bmad/desk/config.yaml NOW, keep {user_name}</step>
</activation>
<persona><role>R</role><principles><principle>A</principle><principle>B</principle></principles></persona>
<menu>
  <item cmd="DS or fuzzy match on dev-story" workflow="{project-root}/bmad/desk/w/workflow.yaml">[DS] Write</item>
  <item cmd="*never closed" exec="x">Text
</menu>
</agent>`;

describe("readAgentMarkup", () => {
  test("the older form", () => {
    expect(valueOf(readAgentMarkup(OLDER))).toEqual({
      name: "Iris",
      title: "Desk & more",
      icon: "📚",
      role: "Asks well & listens",
      identity: "Old hand",
      communicationStyle: "Quiet",
      principles: ["One text"],
      criticalActions: ["Load into memory {bundle-root}/config.yaml and set x", "Be kind"],
      commands: [
        { trigger: "*help", aliases: [], description: "Show this" },
        {
          trigger: "*intake",
          aliases: [],
          description: "Take a request",
          workflow: "{bundle-root}/workflows/intake/workflow.yaml",
        },
        { trigger: "*later", aliases: [], description: "Not yet", notHere: "run-workflow todo" },
      ],
    });
  });

  test("the newer form: of the activation only what loads files, triggers with short names, open tags", () => {
    const agent = valueOf(readAgentMarkup(NEWER));
    expect(agent.criticalActions).toEqual([
      "Load and read {project-root}/bmad/desk/config.yaml NOW, keep {user_name}",
    ]);
    expect(agent.principles).toEqual(["A", "B"]);
    expect(agent.commands.map(({ trigger, aliases }) => [trigger, ...aliases])).toEqual([
      ["*dev-story", "DS"],
      ["*never-closed"],
    ]);
  });

  test.each(["", "# no agent", "<agent>", "<agent title='x'></agent>", "<agents name='x'/>"])(
    "%j holds none",
    (text) =>
      expect(readAgentMarkup(text)).toMatchObject({ ok: false, error: { code: "E_AGENT_NOT_FOUND" } }),
  );

  test("a large text of open tags is read in a moment, within bounds", () => {
    const text = `<agent name="x"><cmds>${'<c cmd="a" '.repeat(40_000)}`;
    expect(valueOf(readAgentMarkup(text)).commands.length).toBeLessThanOrEqual(100);
    expect(valueOf(readAgentMarkup(`<agent name="x">${"<persona>".repeat(50_000)}`)).role).toBe("");
    expect(readAgentMarkup(`<agent ${"a".repeat(900_000)}>`).ok).toBe(false);
    const spaces = { agent: { metadata: { name: "x" }, menu: [{ trigger: " ".repeat(900_000) }] } };
    expect(valueOf(agentOfYaml(spaces)).commands).toEqual([]);
  });
});

describe("other forms", () => {
  test("an agent of format 1.1 with its menu", () => {
    const source = agentSchema.parse({
      ...packageAgent("author"),
      critical_actions: ["Load {bundle-root}/a.yaml"],
      menu: [
        { trigger: "intake", description: "Take", workflow: "{bundle-root}/w" },
        { description: "no trigger" },
      ],
    });
    expect(agentOfPackage(source)).toMatchObject({
      criticalActions: ["Load {bundle-root}/a.yaml"],
      commands: [{ trigger: "*intake", workflow: "{bundle-root}/w" }],
    });
  });

  test("an agent of a module's source", () => {
    const agent = valueOf(
      agentOfYaml({
        agent: {
          metadata: { name: "Jo", title: "T" },
          persona: { role: "R", principles: "- a\n- b" },
          menu: [{ trigger: "x", description: "d", workflow: "w" }, "nothing", { trigger: 3 }],
        },
      }),
    );
    expect(agent).toMatchObject({ name: "Jo", principles: ["a", "b"], commands: [{ trigger: "*x" }] });
    expect(agentOfYaml({ agent: { metadata: {} } }).ok).toBe(false);
  });
});

test.each([
  ['exec="{core-root}/tasks/review.xml"', { notHere: "exec {core-root}/tasks/review.xml" }],
  ['exec="{bundle-root}/w/workflow.yaml"', { workflow: "{bundle-root}/w/workflow.yaml" }],
  [
    'validate-workflow="{bundle-root}/w/workflow.yaml"',
    { notHere: "validate-workflow {bundle-root}/w/workflow.yaml" },
  ],
  ['exec="{bundle-root}/w/workflow.md" workflow="todo"', { notHere: "exec {bundle-root}/w/workflow.md" }],
  ['workflow="todo"', { notHere: "workflow todo" }],
  ['workflow="{bundle-root}/w/workflow.md"', { notHere: "workflow {bundle-root}/w/workflow.md" }],
  ["workflow='{bundle-root}/a.yaml' data='a \"b\" c'", { workflow: "{bundle-root}/a.yaml", data: 'a "b" c' }],
  ['data="x.md"\n  workflow = "{bundle-root}/a.yaml"', { workflow: "{bundle-root}/a.yaml", data: "x.md" }],
  ["Workflow={bundle-root}/a.yaml", { workflow: "{bundle-root}/a.yaml" }],
  ['workflow="{bundle-root}/a.yaml" tmpl="t.md" data="null"', { workflow: "{bundle-root}/a.yaml" }],
  ['exec="b.md" data="x.md"', { notHere: "exec b.md" }],
  ['tmpl="t.md"', { notHere: "tmpl t.md" }],
  ['skill="bmad-prd"', { notHere: "skill bmad-prd" }],
  ['prompt="say it"', { notHere: "prompt say it" }],
  [
    'workflow="{bundle-root}/a.yaml" validate-workflow="{bundle-root}/b.yaml"',
    { notHere: "workflow {bundle-root}/a.yaml, validate-workflow {bundle-root}/b.yaml" },
  ],
  [
    'validate-workflow="{bundle-root}/a.yaml" workflow="{bundle-root}/a.yaml"',
    { notHere: "workflow {bundle-root}/a.yaml, validate-workflow {bundle-root}/a.yaml" },
  ],
  [
    'run-workflow="{bundle-root}/a.yaml" workflow="{bundle-root}/a.yaml"',
    { workflow: "{bundle-root}/a.yaml" },
  ],
  [
    'run-workflow="{bundle-root}/a.yaml" workflow="{bundle-root}/b.yaml"',
    { notHere: "run-workflow {bundle-root}/a.yaml, workflow {bundle-root}/b.yaml" },
  ],
  ['action="#write"', { notHere: "action #write" }],
  [
    'run-workflow="{bundle-root}/a.yaml" exec="b.md"',
    { notHere: "run-workflow {bundle-root}/a.yaml, exec b.md" },
  ],
])("a command of a menu does what its item says: %s", (attributes, deed) => {
  const text = `<agent name="A"><menu><item cmd="*x" ${attributes}>X</item></menu></agent>`;
  const [command] = valueOf(readAgentMarkup(text)).commands;
  expect(command).toEqual({ trigger: "*x", aliases: [], description: "X", ...deed });
});

test("an item with several handlers has a command for each, and one in a comment is none", () => {
  const menu = `
    <!-- <item cmd="*gone" workflow="{bundle-root}/a.yaml">Gone</item> -->
    <item type="multi">[GT] Green, [BT] Black
      <handler match="GT or fuzzy match green tea" workflow="{bundle-root}/green.yaml" data="null"/>
      <handler match="BT or fuzzy match black tea" action="say it" type="action"></handler>
    </item>
    <item cmd="*help">Help</item>`;
  expect(valueOf(readAgentMarkup(`<agent name="A"><menu>${menu}</menu></agent>`)).commands).toEqual([
    {
      trigger: "*green-tea",
      aliases: ["GT"],
      description: "[GT] Green, [BT] Black",
      workflow: "{bundle-root}/green.yaml",
    },
    {
      trigger: "*black-tea",
      aliases: ["BT"],
      description: "[GT] Green, [BT] Black",
      notHere: "action say it",
    },
    { trigger: "*help", aliases: [], description: "Help" },
  ]);
});

test("several triggers of one item in a module's source are a command each", () => {
  const way = (input: string, ...rest: readonly object[]) => ({
    [input]: [{ input: `${input} or fuzzy match ${input} tea` }, ...rest],
  });
  const { commands } = valueOf(
    agentOfYaml({
      agent: {
        metadata: { name: "Jo" },
        menu: [
          {
            multi: "Tea",
            triggers: [
              way("g", { route: "{bundle-root}/green/workflow.yaml" }, { data: "x.md" }),
              way("b", { route: "{bundle-root}/black/workflow.md" }, { data: null }, { type: "exec" }),
              way("w", { action: "say it" }, { type: "action" }),
              "nothing",
            ],
          },
        ],
      },
    } as never), // a list of objects whose keys are made here
  );
  expect(commands).toEqual([
    {
      trigger: "*g-tea",
      aliases: ["g"],
      description: "Tea",
      workflow: "{bundle-root}/green/workflow.yaml",
      data: "x.md",
    },
    {
      trigger: "*b-tea",
      aliases: ["b"],
      description: "Tea",
      notHere: "exec {bundle-root}/black/workflow.md",
    },
    { trigger: "*w-tea", aliases: ["w"], description: "Tea", notHere: "action say it" },
  ]);
});

describe("pickCommand", () => {
  const agent = valueOf(readAgentMarkup(NEWER.replace("*never closed", "*intake")));
  test.each([
    ["*intake", "*intake"],
    ["INTAKE", "*intake"],
    ["  *intake  a new idea\nof mine", "*intake"],
    ["1", "*dev-story"],
    ["2", "*intake"],
    ["ds", "*dev-story"],
  ])("%j picks %s", (input, trigger) => {
    expect(pickCommand(agent, input)).toMatchObject({ trigger });
  });
  test.each(["", "3", "0", "intake please", "I want *intake", "*nothing", "take", "constructor"])(
    "%j picks none",
    (input) => expect(pickCommand(agent, input)).toBeUndefined(),
  );
});

describe("pathsToLoad", () => {
  test("paths with a variable and an extension, without the sentence around them", () => {
    expect(
      pathsToLoad("Load {bundle-root}/config.yaml, then {project_root}/docs/a.md. Look at {core-root}/tasks"),
    ).toEqual(["{bundle-root}/config.yaml", "{project_root}/docs/a.md"]);
    expect(pathsToLoad("Load /etc/passwd and {user_name}.md")).toEqual([]);
  });

  test("are found where a module's source names the installation", () => {
    expect(
      pathsToLoad("Load into memory {project-root}/{bmad_folder}/desk/config.yaml and set variables"),
    ).toEqual(["{project-root}/bmad/desk/config.yaml"]);
  });
});
