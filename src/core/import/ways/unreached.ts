import { counted } from "../../text.js";
import { type ImportFindings, named } from "../source/findings.js";
import { type SourceTree, folderOf, nameOf } from "../source/source-tree.js";
import { entriesIn, isNumberedStep, isStepFolder, languageOf, resumesRun } from "../source/step-files.js";

/** A workflow that was walked. */
interface Walked {
  readonly folder: string;
  readonly order: readonly string[];
  /** Its document among them. */
  readonly reached: ReadonlySet<string>;
}

/** Says of each file of the folders of steps that was not reached why it is no node. */
export function reportUnreached(tree: SourceTree, walked: Walked, findings: ImportFindings): void {
  const steps = walked.order.length === 0 ? tree.filesBelow(walked.folder) : walked.order;
  const folders = new Set(steps.map(folderOf));
  const ofSteps = [...folders].flatMap((folder) => {
    const files = tree.filesIn(folder);
    return isStepFolder(tree, folder) ? files : files.filter(isNumberedStep); // other folders hold other texts as well
  });
  for (const path of ofSteps) {
    if (!path.endsWith(".md") || walked.reached.has(path)) continue;
    const reason = reasonFor(tree, path, walked);
    if (reason === undefined)
      findings.add("warning", path, 0, "no step leads here: it is in the package, but no node");
    else findings.add("note", path, 0, reason);
  }
  if (walked.order.length > 0) reportUnreachedFolders(tree, walked, folders, findings);
}

/** Says so of each folder of steps below the workflow's own of which none was reached, unless it is another workflow's. */
function reportUnreachedFolders(
  tree: SourceTree,
  walked: Walked,
  reached: ReadonlySet<string>,
  findings: ImportFindings,
): void {
  const folders = new Set(tree.filesBelow(walked.folder).map(folderOf));
  for (const folder of folders) {
    if (folder === walked.folder || reached.has(folder) || !isStepFolder(tree, folder)) continue;
    const steps = tree.filesIn(folder).filter((path) => isNumberedStep(path) && !walked.reached.has(path));
    const [first] = steps;
    if (first === undefined || ownerOf(tree, first, walked) !== undefined) continue;
    const rest = steps.length === 1 ? "is in the package, but no node" : "are in the package, but no nodes";
    findings.add(
      "warning",
      folder,
      0,
      `nothing leads into this folder: its ${counted(steps.length, "step")} ${rest}`,
    );
  }
}

function reasonFor(tree: SourceTree, path: string, walked: Walked): string | undefined {
  if (resumesRun(path)) return "is left out: Interlock itself goes on with a run that was interrupted";
  const language = languageOf(path);
  const original = path.replace(new RegExp(`[._]${language}\\.md$`, "i"), ".md");
  if (language !== "" && walked.reached.has(original))
    return `is ${named(nameOf(original))} in another language: it is in the package, but no node`;
  const owner = ownerOf(tree, path, walked);
  return owner === undefined ? undefined : `belongs to ${named(owner)}, another workflow: import it as well`;
}

/** The document of another workflow that a step lies below, or that names its folder. */
function ownerOf(tree: SourceTree, path: string, { folder, reached }: Walked): string | undefined {
  for (let at = folderOf(path); at.length > folder.length; at = folderOf(at)) {
    const [entry] = entriesIn(tree, at);
    if (entry !== undefined && !reached.has(entry)) return entry;
  }
  const steps = `${nameOf(folderOf(path))}/`;
  return entriesIn(tree, folder).find((file) => !reached.has(file) && tree.text(file).includes(steps));
}
