import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { type ChatRequestBody, type ScriptedAnswer, call } from "../fakes/scripted-model.js";
import { nodeOf, step } from "../fakes/walk.js";
import { type Shell, jsonOf, newShell, withModel } from "./shell.js";

const TEA = {
  "kit/_bmad/leaf/config.yaml": "output_folder: '{project-root}/artifacts'\n",
  "kit/_bmad/leaf/tea/SKILL.md": "---\nname: tea\n---\nFollow ./workflow.md.\n",
  "kit/_bmad/leaf/tea/workflow.md":
    "---\noutputFile: '{output_folder}/tea.md'\n---\n# Tea\n\n**Your Role:** You taste.\n\nRead fully and follow: `./steps/step-01-pot.md`\n",
  "kit/_bmad/leaf/tea/steps/step-01-pot.md":
    "# Pot\n\nAppend the pot to {outputFile}, halt and wait.\n\n- IF C: read fully and follow: ./step-02-end.md\n",
  "kit/_bmad/leaf/tea/steps/step-02-end.md":
    "# End\n\nBased on the conversation so far, append the cup to {outputFile}.\n",
};

async function imported(): Promise<Shell> {
  const shell = await newShell();
  for (const [path, text] of Object.entries(TEA)) {
    await mkdir(dirname(join(shell.dir, path)), { recursive: true });
    await writeFile(join(shell.dir, path), text);
  }
  const made = await shell.run(["package", "import", "kit/_bmad/leaf/tea", "--out", "tea"]);
  expect(made).toMatchObject({ code: 0, stderr: "" });
  return shell;
}

test("an imported workflow is rehearsed to its end", { tags: "slow" }, async () => {
  const shell = await imported();
  const run = await shell.run(["run", "tea", "--project", "project", "--rehearse", "--json"]);
  expect(jsonOf(run)).toMatchObject({
    phase: "completed",
    stepsCompleted: ["step-01-pot", "step-02-end"],
    artifacts: ["artifacts/tea.md"],
  });
});

/** A model that does what the steps say: appends, asks, goes on. */
function taster(request: ChatRequestBody): ScriptedAnswer {
  const end = nodeOf(request) === "step-02-end";
  const append = { path: "@project/artifacts/tea.md", content: end ? "Cup\n" : "Pot\n", append: true };
  const wrote =
    request.messages.filter(({ role }) => role === "tool").length >= (end && remembers(request) ? 3 : 1);
  if (!wrote) return { calls: [call("fs_write", append)] };
  if (end) return { calls: [step("step-02-end", "step-02-end")] };
  const answered = request.messages.some(({ content }) => content?.startsWith("USER_INPUT") === true);
  return answered
    ? { calls: [step("step-01-pot", "step-02-end")] }
    : { content: "A secret word: bergamot. [C] to go on?" };
}

function remembers(request: ChatRequestBody): boolean {
  return request.messages.some(({ content }) => content?.includes("bergamot") === true);
}

test.each([
  { args: [], carried: true },
  { args: ["--no-whole-run-conversation"], carried: false },
])(
  "a model walks it: parts are appended once, the menu waits, what was said is carried ($carried)",
  { tags: "slow" },
  async ({ args, carried }) => {
    const shell = await imported();
    await withModel(taster, async (model, variables) => {
      const run = await shell
        .with({ ...shell.environment, ...variables })
        .run(["run", "tea", "--project", "project", "--json", ...args], "C\n");
      expect(jsonOf(run)).toMatchObject({ phase: "completed", artifacts: ["artifacts/tea.md"] });
      expect(await readFile(join(shell.dir, "project/artifacts/tea.md"), "utf8")).toBe("Pot\nCup\n");
      const last = model.requests.at(-1);
      expect(last !== undefined && nodeOf(last)).toBe("step-02-end");
      expect(last !== undefined && remembers(last)).toBe(carried);
    });
  },
);
