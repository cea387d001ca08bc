import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { type ChatRequestBody, type Script, type ScriptedAnswer, call } from "../fakes/scripted-model.js";
import { nodeOf, step } from "../fakes/walk.js";
import { jsonOf, newShell, withModel } from "./shell.js";

const CONFIG = { "kit/_bmad/leaf/config.yaml": "output_folder: '{project-root}/artifacts'\n" };

/** Workflows of three steps, each in a form of its own, as they are found. */
const FORMS: readonly { readonly form: string; readonly files: Readonly<Record<string, string>> }[] = [
  {
    form: "workflow.md with steps that name the next in their front matter, with line breaks of Windows",
    files: {
      "workflow.md":
        "---\nname: tea\noutputFile: '{output_folder}/tea.md'\n---\n# Tea\n\nLoad and follow `{project-root}/_bmad/leaf/tea/steps/step-01-pot.md`.\n",
      "steps/step-01-pot.md":
        "---\r\nname: pot\r\nnextStepFile: './step-02-leaf.md'\r\noutputFile: '{output_folder}/tea.md'\r\n---\r\n# Pot\r\n\r\nAppend the pot to {outputFile}. HALT and wait.\r\n",
      "steps/step-02-leaf.md":
        "---\r\nnextStepFile: './step-03-cup.md'\r\noutputFile: '{output_folder}/tea.md'\r\n---\r\n# Leaf\r\n",
      "steps/step-03-cup.md":
        "---\r\noutputFile: '{output_folder}/tea.md'\r\n---\r\n# Cup\r\n\r\nThis is the final step.\r\n",
    },
  },
  {
    form: "SKILL.md with steps whose bodies say where to go on",
    files: {
      "SKILL.md":
        "---\nname: tea\ndescription: Makes tea.\n---\n# Tea\n\nRead fully and follow: `./steps/step-01-pot.md`\n",
      "steps/step-01-pot.md":
        "# Pot\n\n[A] Ask more [C] Continue\n\n- IF C: append the pot, then read fully and follow: ./step-02-leaf.md\n",
      "steps/step-02-leaf.md":
        "# Leaf\n\n## NEXT STEP\n\nOnce the user agrees, load `./step-03-cup.md` and follow it.\n",
      "steps/step-03-cup.md": "# Cup\n\nThe workflow is complete.\n",
    },
  },
  {
    form: "SKILL.md that points to a workflow.md, with steps in steps-c",
    files: {
      "SKILL.md":
        "---\nname: tea\ndescription: Makes tea.\n---\n\nFollow the instructions in ./workflow.md.\n",
      "workflow.md": "\ufeff# Tea\n\nRead fully and follow: `./steps-c/step-01-pot.md`\n",
      "steps-c/step-01-pot.md":
        "---\nnextStepFile: '{workflow_path}/steps-c/step-02-leaf.md'\n---\n# Pot\n\n#### IF C:\n\nLoad, read entire file, then execute {nextStepFile}\n",
      "steps-c/step-02-leaf.md":
        "# Leaf\n\nOnly when C is selected: read fully and follow `step-03-cup.md`.\n",
      "steps-c/step-03-cup.md": "# Cup\n\nThis is the last step.\n",
    },
  },
  {
    form: "SKILL.md with steps that are named by number, by a link and by title, and with a customisation",
    files: {
      "SKILL.md":
        "---\nname: tea\ndescription: Makes tea.\n---\n# Tea\n\nHeat to {workflow.heat}. Begin with `step-01`.\n",
      "customize.toml": "[workflow]\nheat = 80\n",
      "steps/step-01-pot.md": "# Pot\n\n[C] Continue to step-02.\n",
      "steps/step-02-leaf.md": "# Leaf\n\nThen go on with [the cup][cup].\n\n[cup]: ./step-03-cup.md\n",
      "steps/step-03-cup.md": "# Cup\n\nThis is the last step.\n",
    },
  },
];

const STEPS = ["step-01-pot", "step-02-leaf", "step-03-cup"];

/** What a real model does before it does what it should, answer by answer of a node's visit. */
function ordinary(request: ChatRequestBody, answered: number): ScriptedAnswer {
  const node = nodeOf(request);
  const next = STEPS[STEPS.indexOf(node) + 1];
  const part = { path: "@project/artifacts/tea.md", content: `${node}\n`, append: true };
  const answers: readonly ScriptedAnswer[] = [
    { content: "Let me look something up first.", calls: [call("web_search", { query: "tea" })] },
    { content: "I write the part now.", calls: [call("fs_write", '{"path": "@project/artifacts/te')] },
    { calls: [call("fs_write", part)] },
    {
      content: "That is done, so I finish.",
      calls: [step(node, node === "step-01-pot" ? "step-03-cup" : "step-01-pot")],
    },
    { content: "I have added the part. [C] to continue?" },
  ];
  return answers[answered] ?? { calls: [step(node, next ?? node)] };
}

function walker(): Script {
  const answered = new Map<string, number>();
  return (request) => {
    const node = nodeOf(request);
    const count = answered.get(node) ?? 0;
    answered.set(node, count + 1);
    return ordinary(request, count);
  };
}

/** The codes of the calls that were refused, as the model was told. */
function refusals(requests: readonly ChatRequestBody[]): readonly string[] {
  const told = new Map<string, string>();
  for (const { messages } of requests) {
    for (const { role, content, tool_call_id: id = "" } of messages) {
      const code = role === "tool" ? /"code":"(\w+)"/.exec(content ?? "")?.[1] : undefined;
      if (code !== undefined) told.set(id, code);
    }
  }
  return [...told.values()].sort();
}

test.each(FORMS)(
  "a model that behaves like a real one walks an imported $form",
  { tags: "slow" },
  async ({ files }) => {
    const shell = await newShell();
    const placed = Object.entries(files).map(([path, text]) => [`kit/_bmad/leaf/tea/${path}`, text] as const);
    for (const [path, text] of [...Object.entries(CONFIG), ...placed]) {
      await mkdir(dirname(join(shell.dir, path)), { recursive: true });
      await writeFile(join(shell.dir, path), text);
    }
    const made = await shell.run(["package", "import", "kit/_bmad/leaf/tea", "--out", "tea", "--json"]);
    expect(made).toMatchObject({ code: 0, stderr: "" });
    expect(jsonOf(made)).toMatchObject({ packages: [{ form: "steps", findings: [], check: [] }] });
    await withModel(walker(), async (model, variables) => {
      const run = await shell
        .with({ ...shell.environment, ...variables })
        .run(["run", "tea", "--project", "project", "--json"], "C\nC\nC\n");
      expect(jsonOf(run)).toMatchObject({
        phase: "completed",
        stepsCompleted: STEPS,
        artifacts: ["artifacts/tea.md"],
      });
      expect(await readFile(join(shell.dir, "project/artifacts/tea.md"), "utf8")).toBe(
        `${STEPS.join("\n")}\n`,
      );
      const each = ["E_INVALID_TRANSITION", "TOOL_ARGS_INVALID_JSON", "TOOL_NOT_AVAILABLE"];
      expect(refusals(model.requests)).toEqual(each.flatMap((code) => STEPS.map(() => code)));
    });
  },
);
