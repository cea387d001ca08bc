import type { Random } from "./random.js";
import type { PlannedCall, PlannedTurn, PlannedVisit } from "./plan-visits.js";

/** What the agent of a bundle run is called that names none. */
export const BUNDLE_AGENT = "facilitator";
/** Where a bundle run is asked and answered. */
const BUNDLE_NODE = "workflow";
/** The name of a session's folder. */
export const SESSION = "session";

/** Of the run with this folder, in the bundle. */
export function workflowOf(folder: string): string {
  return `workflows/${folder}/workflow.yaml`;
}

/** Where the sessions of the run with this folder are, in the project. */
export function outputRootOf(folder: string): string {
  return `artifacts/${folder}`;
}

export function manifestOf(folder: string): string {
  return `${outputRootOf(folder)}/${SESSION}/manifest.json`;
}

/** A bundle with a workflow for each of these folders. */
export function bundleFiles(folders: readonly string[]): Record<string, string> {
  const pairs = folders.flatMap((folder) => [
    [
      workflowOf(folder),
      `name: ${folder}\ndescription: "Writes something down"\ninstalled_path: "{bundle-root}/workflows/${folder}"\n` +
        `instructions: "{installed_path}/instructions.md"\ndefault_output_file: "{session-folder}/outcome.md"\n`,
    ],
    [
      `workflows/${folder}/instructions.md`,
      `<workflow>\n<step n="1" goal="Write it down">\n<ask>What is to be written?</ask>\n<template-output>outcome</template-output>\n</step>\n</workflow>\n`,
    ],
  ]);
  return Object.fromEntries(pairs) as Record<string, string>;
}

/** The whole of a bundle run: it preloads, asks, reads, saves, and says that it is done. */
export function planBundleVisit(random: Random, folder: string): PlannedVisit {
  const turns: PlannedTurn[] = [];
  const add = (...calls: readonly Omit<PlannedCall, "id">[]): void => {
    const turn = turns.length + 1;
    turns.push({ calls: calls.map((call, index) => ({ id: `c1-${turn}-${index}`, ...call })) });
  };
  add({
    name: "preload_workflow",
    arguments: { workflow_path: `{bundle-root}/${workflowOf(folder)}` },
    expect: "ok",
  });
  for (let count = random.between(1, 4); count > 0; count -= 1) {
    const place = `${turns.length + 1} of ${folder}`;
    if (random.chance(0.3)) turns.push({ question: `Question ${place}?`, answer: `Answer ${place}.` });
    else add(...planReads(random, folder), ...planSaves(random, folder, turns.length));
  }
  add(save(folder, "outcome.md", `The outcome of ${folder}.\n`));
  turns.push({ says: "It is saved.\n\nWORKFLOW COMPLETE" });
  return { nodeId: BUNDLE_NODE, turns };
}

function planReads(random: Random, folder: string): readonly Omit<PlannedCall, "id">[] {
  const reads = [
    { path: `{bundle-root}/workflows/${folder}/instructions.md`, expect: "ok" },
    { path: `{project-root}/artifacts/${folder}/old.md`, expect: "ok" },
    { path: "../../secret.txt", expect: "refused" },
  ];
  return Array.from({ length: random.between(0, 2) }, () => {
    const { path, expect } = random.pick(reads);
    return { name: "read_file", arguments: { file_path: path }, expect };
  });
}

function planSaves(random: Random, folder: string, turn: number): readonly Omit<PlannedCall, "id">[] {
  const names = ["notes/first.md", "second.md"];
  const chosen = random.chance(0.5) ? names : [random.pick(names)];
  return chosen.map((name) =>
    save(folder, name, `${name} in turn ${turn}\n${"x".repeat(random.between(1, 3_000))}\n`),
  );
}

function save(folder: string, name: string, content: string): Omit<PlannedCall, "id"> {
  return {
    name: "save_output",
    arguments: { file_path: name, content },
    expect: "ok",
    write: { path: `@project/${outputRootOf(folder)}/${SESSION}/${name}`, content },
  };
}
