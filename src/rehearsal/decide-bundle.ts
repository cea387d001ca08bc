import type { JsonObject } from "../core/json.js";
import type { BundleExchange, BundleSituation } from "./bundle-situation.js";
import { type BundleStep, readSteps } from "./bundle-steps.js";
import type { Memory } from "./memory.js";
import { placeholder } from "./placeholder.js";
import { type Decision, say } from "./situation.js";
import { oneLine } from "./step-declaration.js";
import { toMap } from "./untrusted.js";

/** Saves that one walk makes at most; steps beyond share one. */
const MAX_SAVES = 12;
/** Times that the end is said: a runtime that does not take it is told why. */
const MAX_DONE = 2;

/**
 * What the rehearsal answers in a bundle run: it preloads the workflow, walks its numbered steps, saves each declared output
 * as it grows, answers the questions of the instructions itself, and says that it is done. The rules of `decide` hold.
 */
export function decideBundle(shells: BundleSituation, memory: Memory): Decision {
  const missing = ["preload_workflow", "save_output"].filter((tool) => !shells.offered.has(tool));
  if (missing.length > 0) return say(memory, `I am not offered ${missing.join(" and ")}: I cannot work.`);
  const refused = shells.exchanges.slice(shells.answeredAt).findLast(({ success }) => !success);
  if (refused !== undefined && refused.tool !== "read_file") return askAbout(memory, refused);
  const preload = shells.exchanges.findLast(({ tool, success }) => tool === "preload_workflow" && success);
  if (preload === undefined) {
    const text = `I load the workflow ${shells.workflow} with all its files. No model is at work here.`;
    return say(memory, text, [{ name: "preload_workflow", arguments: { workflow_path: shells.workflow } }]);
  }
  const instructions = preload.value.get("instructions");
  const steps = readSteps(typeof instructions === "string" ? instructions : "");
  const name = toMap(preload.value.get("workflowYaml")).get("name");
  const title = typeof name === "string" ? oneLine(name, 200) : shells.workflow;
  return saveNext(shells, memory, { steps, title }) ?? finish(shells, memory, steps);
}

function askAbout(memory: Memory, refused: BundleExchange): Decision {
  const why = oneLine(refused.error, 300);
  return say(memory, `I cannot go on: ${refused.tool} was refused (${why}). Answer me, and I try it again.`);
}

interface Material {
  readonly steps: readonly BundleStep[];
  readonly title: string;
}

/** The outputs with what the walk has come to; undefined when all is saved. */
function saveNext(shells: BundleSituation, memory: Memory, material: Material): Decision | undefined {
  const { outputs } = shells;
  if (outputs.length === 0) return undefined;
  const rounds = saveRounds(material.steps);
  const saved = shells.exchanges.filter(({ tool, success }) => tool === "save_output" && success).length;
  const round = Math.floor(saved / outputs.length);
  const upTo = rounds[round];
  if (upTo === undefined) return undefined;
  const walked = material.steps.slice(0, upTo);
  const last = walked.at(-1);
  const calls = outputs.slice(saved % outputs.length).map((output) => ({
    name: "save_output",
    arguments: saveArguments(shells, output, { ...material, steps: walked }),
  }));
  const where =
    last === undefined ? "The workflow has no numbered steps" : `Step ${last.number}: ${last.goal}`;
  return say(memory, `${where}. I save what a model would have written as a placeholder.`, calls);
}

/** After how many steps there is a save: wherever a section is shown, and at the end. */
function saveRounds(steps: readonly BundleStep[]): readonly number[] {
  const stops = steps.flatMap(({ hasOutput }, index) => (hasOutput ? [index + 1] : []));
  const all = stops.at(-1) === steps.length ? stops : [...stops, steps.length];
  return all.length <= MAX_SAVES ? all : [...all.slice(0, MAX_SAVES - 1), steps.length];
}

function saveArguments(
  shells: BundleSituation,
  output: BundleSituation["outputs"][number],
  { steps, title }: Material,
): JsonObject {
  const path = fillIn(output.path, shells.date);
  const questions = steps.flatMap((step) => step.questions);
  const content = placeholder(
    { declared: output.declared, path },
    {
      nodeId: steps.at(-1)?.number ?? "",
      workflow: title,
      step: {
        title,
        inputs: [],
        outputs: [],
        variables: [],
        transitions: [],
        headings: steps.map(({ number, goal }) => ({ level: 1, text: `${number}. ${goal}` })),
      },
      inputs: [],
      said: [...shells.said, ...questions.map((text) => `${text} (a placeholder answers)`)],
    },
  );
  return { file_path: path, content };
}

/** A file name without placeholders and without what some file system refuses. */
function fillIn(path: string, date: string): string {
  const prefix = "{session-folder}/";
  const name = path.startsWith(prefix) ? path.slice(prefix.length) : path;
  const filled = name
    .replaceAll(/\{\{?\s*([^{}]*?)\s*\}?\}/g, (_whole, key: string) =>
      /date/i.test(key) && date !== "" ? date : "placeholder",
    )
    .replaceAll(/[{}*?<>:"|\\]+|\p{Cc}+/gu, "-");
  return `${prefix}${filled}`;
}

function finish(shells: BundleSituation, memory: Memory, steps: readonly BundleStep[]): Decision {
  const walked = steps.map(({ number, goal }) => `- ${number}. ${goal}`).join("\n");
  if (shells.doneCount >= MAX_DONE) {
    return say(
      memory,
      "I have said that I am done, and it was not accepted. I know no further step. What shall I do?",
    );
  }
  const text =
    steps.length === 0 ? "The workflow has no numbered steps." : `I have walked these steps:\n${walked}`;
  return say(memory, `${text}\nWORKFLOW COMPLETE`);
}
