/** One numbered step of a workflow's instructions. */
export interface BundleStep {
  readonly number: string;
  readonly goal: string;
  /** It has a section to be shown and saved. */
  readonly hasOutput: boolean;
  readonly questions: readonly string[];
}

const MAX_STEPS = 200;
const MAX_QUESTIONS = 20;
const MAX_TEXT = 200;

/**
 * The steps of instructions, in order: `<step n="1" goal="…">` where there are any, else Markdown headings that begin with a
 * number or with the word step.
 */
export function readSteps(instructions: string): readonly BundleStep[] {
  const tagged = [...instructions.matchAll(/<step\b([^<>]{0,1000})>/g)].slice(0, MAX_STEPS);
  if (tagged.length > 0) {
    return tagged.map((match, index) => {
      const attributes = match[1] ?? "";
      const body = instructions.slice(match.index + match[0].length, tagged[index + 1]?.index);
      const goal = attribute(attributes, "goal") ?? attribute(attributes, "title") ?? "";
      return step(attribute(attributes, "n") ?? String(index + 1), goal, body);
    });
  }
  const headings = [
    ...instructions.matchAll(
      /^#{1,5}[ \t]+(?:Step[ \t]+)?(\d{1,3}(?:\.\d{1,3})?)[.:)]?(?=[ \t:])[:.]?[ \t]*(.*)$/gim,
    ),
  ];
  const found = headings.slice(0, MAX_STEPS);
  return found.map((match, index) =>
    step(
      match[1] ?? "",
      match[2] ?? "",
      instructions.slice(match.index + match[0].length, found[index + 1]?.index),
    ),
  );
}

function step(number: string, goal: string, body: string): BundleStep {
  const asks = [...body.matchAll(/<ask\b[^<>]{0,500}>([^<]{0,2000})/g)].slice(0, MAX_QUESTIONS);
  return {
    number: oneLine(number),
    goal: oneLine(goal),
    hasOutput: /<template-output\b/.test(body),
    questions: asks.map((match) => oneLine(match[1] ?? "")).filter((text) => text !== ""),
  };
}

function attribute(attributes: string, name: string): string | undefined {
  return new RegExp(`\\b${name}\\s*=\\s*"([^"]*)"`).exec(attributes)?.[1];
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim().slice(0, MAX_TEXT);
}
