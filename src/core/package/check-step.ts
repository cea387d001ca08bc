import { isPrintable } from "../printable.js";
import { parseAliasPath, pathSizeProblem } from "../tools/alias-path.js";
import { DEFAULT_PROTECTED_PATHS, protectingRule } from "../tools/name-rules.js";
import { type Finding, jsonPath, listNames, quote, warningFinding } from "./findings.js";
import { type GraphFile, type StepFrontmatter, stepFrontmatterSchema } from "./schemas.js";

type Node = GraphFile["nodes"][number];

/** What a step says otherwise than its node: the graph counts, and the model reads both. Warnings only. */
export function checkAgainstNode(
  file: string,
  step: StepFrontmatter,
  node: Node,
  graph: GraphFile,
  agentIds: ReadonlySet<string> | undefined,
): readonly Finding[] {
  const isKnown = step.agentId !== undefined && agentIds?.has(step.agentId) !== false; // or it is an error already
  return [
    ...(isKnown ? checkSameAgent(file, step, node) : []),
    ...checkSameOutputs(file, step, node),
    ...checkSameTransitions(file, step, node, graph),
    ...checkOutputs(file, [], step.outputs),
  ];
}

/** Outputs that no tool writes: they are no files of the project, or have a name that runs keep away from. */
export function checkOutputs(
  file: string,
  place: readonly PropertyKey[],
  outputs: readonly string[] = [],
): readonly Finding[] {
  return outputs.flatMap((output, index) => {
    const problem = outputProblem(output);
    if (problem === undefined) return [];
    return [
      warningFinding(file, jsonPath([...place, "outputs", index]), `the output ${quote(output)} ${problem}`),
    ];
  });
}

function outputProblem(output: string): string | undefined {
  const tooLong = pathSizeProblem(output, output.split("/"));
  if (tooLong !== undefined) return `can be no file's path. ${tooLong}`;
  const names = outputPath(output)?.split("/");
  if (names === undefined) return "leaves the project: write it like artifacts/story.md";
  if (!names.every(isPrintable)) return "holds a control, direction or invisible character: remove it";
  const rule = protectingRule(DEFAULT_PROTECTED_PATHS, names, "write");
  if (rule === undefined) return undefined;
  return `is protected (${quote(rule)}), and no run writes it unless an operator's settings allow that: choose another name`;
}

/** Keys that nobody reads, and that are spelled almost as one that is: `setVariables`, `agent_id`, `artefactTypes`. Other keys are the author's own. */
export function checkKeys(file: string, step: StepFrontmatter): readonly Finding[] {
  return Object.keys(step).flatMap((key) => {
    if (STEP_KEYS.includes(key)) return [];
    const meant = STEP_KEYS.find((known) => areAlike(plainKey(known), plainKey(key)));
    if (meant === undefined) return [];
    return [warningFinding(file, jsonPath([key]), `is no field of a step: did you mean ${meant}?`)];
  });
}

const STEP_KEYS = Object.keys(stepFrontmatterSchema.shape);

/** Without what is mistaken most: case, blanks between words, and one or several. */
function plainKey(key: string): string {
  return key.toLowerCase().replaceAll(/[s_-]/g, "");
}

/** Of shorter keys, one with another letter is another word: `tile` is no `title`. */
const MIN_SLIP_CHARS = 6;

/** Whether a key is the one that is known, but for a letter that is missing, too many, another, or exchanged with its neighbour. */
function areAlike(known: string, key: string): boolean {
  if (known === key) return true;
  if (known.length < MIN_SLIP_CHARS) return false;
  let same = 0;
  while (same < known.length && known[same] === key[same]) same += 1;
  const [a, b] = [known.slice(same), key.slice(same)];
  const isExchanged = a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
  return isExchanged || a.slice(1) === b || a === b.slice(1) || a.slice(1) === b.slice(1);
}

function checkSameAgent(file: string, step: StepFrontmatter, node: Node): readonly Finding[] {
  if (step.agentId === undefined || step.agentId === node.agentId) return [];
  const other = node.agentId === undefined ? "names none" : `has ${quote(node.agentId)}`;
  const sentence = `is ${quote(step.agentId)}, but node ${quote(node.id)} of the graph ${other}, and the graph counts: make them equal`;
  return [warningFinding(file, "$.agentId", sentence)];
}

function checkSameOutputs(file: string, step: StepFrontmatter, node: Node): readonly Finding[] {
  if (step.outputs === undefined) return [];
  const own = new Set(step.outputs.map(spelled));
  const ofNode = new Set((node.outputs ?? []).map(spelled));
  const surplus = [...own].filter((output) => !ofNode.has(output));
  const lacking = [...ofNode].filter((output) => !own.has(output));
  if (surplus.length === 0 && lacking.length === 0) return [];
  const parts = [
    ...(surplus.length === 0 ? [] : [`has ${listNames(surplus)}, which node ${quote(node.id)} has not`]),
    ...(lacking.length === 0 ? [] : [`lacks ${listNames(lacking)} of node ${quote(node.id)}`]),
  ];
  return [warningFinding(file, "$.outputs", `${parts.join(", and ")}: the graph counts, so make them equal`)];
}

function checkSameTransitions(
  file: string,
  step: StepFrontmatter,
  node: Node,
  graph: GraphFile,
): readonly Finding[] {
  const { transitions } = step;
  if (transitions === undefined) return [];
  const edges = graph.edges.filter((edge) => edge.from === node.id);
  const told = new Set(transitions.map(({ to }) => to));
  const untold = [...new Set(edges.map(({ to }) => to))].filter((to) => !told.has(to));
  return [
    ...transitions.flatMap(({ to, label, isDefault }, index) => {
      const alike = edges.filter((edge) => edge.to === to);
      const same = alike.find((edge) => edge.label === label) ?? alike[0];
      const edge = `the graph's edge from ${quote(node.id)} to ${quote(to)}`;
      const problem =
        same === undefined
          ? `leads to ${quote(to)}, and the graph has no edge from ${quote(node.id)} to there (there are: ${listNames(edges.map((other) => other.to))})`
          : same.label !== label
            ? `has the label ${quote(label)}, but ${edge} has ${quote(same.label)}`
            : isDefault !== undefined && isDefault !== same.isDefault
              ? `says isDefault: ${isDefault}, but ${edge} says ${same.isDefault}`
              : undefined;
      if (problem === undefined) return [];
      return [warningFinding(file, jsonPath(["transitions", index]), `${problem}: the graph counts`)];
    }),
    ...(untold.length === 0
      ? []
      : [
          warningFinding(
            file,
            "$.transitions",
            `does not name ${listNames(untold)}, to which the graph has edges`,
          ),
        ]),
  ];
}

function spelled(output: string): string {
  return outputPath(output) ?? output;
}

/** `./a/b` and `@project/a/b` as `a/b`; undefined for what lies outside the project, or is the project itself. */
function outputPath(output: string): string | undefined {
  if (/^(?:[/\\~]|[A-Za-z]:[\\/]|[a-z]+:\/\/)|(?:^|\\)\.\.(?:\\|$)/.test(output)) return undefined;
  const parsed = parseAliasPath(output.startsWith("@") ? output : `@project/${output}`);
  if (!parsed.ok || parsed.value.mount !== "project") return undefined;
  return parsed.value.segments.join("/") || undefined;
}
