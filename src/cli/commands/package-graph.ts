import { drawGraph, drawMermaid } from "../../core/package/draw-graph.js";
import { listSome } from "../../core/text.js";
import { loadPackageSource } from "../../store/packages/package-source.js";
import { CommandError, EXIT, type ExitCode, UsageError, print, printNote } from "../terminal/output.js";
import { printFindings, somethingAt } from "./package.js";

interface GraphOptions {
  readonly format: string;
  readonly workflow?: string;
}

/** `interlock package graph`: the nodes of a package and the ways between them, for a terminal or as Mermaid. */
export async function packageGraphCommand(source: string, options: GraphOptions): Promise<ExitCode> {
  if (options.format !== "text" && options.format !== "mermaid") {
    throw new UsageError(`There is no format "${options.format}": say text or mermaid.`);
  }
  const { package: loaded, findings } = await loadPackageSource(await somethingAt(source));
  if (loaded === undefined) {
    printFindings(findings, printNote); // standard output is the drawing's
    throw new CommandError("Nothing was drawn: mend the errors first.");
  }
  const { workflow } = options;
  const chosen = loaded.workflows.filter(({ id }) => workflow === undefined || id === workflow);
  if (chosen.length === 0) {
    const there = listSome(loaded.workflows.map(({ id }) => id));
    throw new UsageError(`There is no workflow "${workflow}" in the package (there are: ${there}).`);
  }
  const lines =
    options.format === "mermaid"
      ? drawMermaid(chosen)
      : chosen.flatMap((each, index) => [...(index === 0 ? [] : [""]), ...drawGraph(each)]);
  for (const line of lines) print(line);
  return EXIT.done;
}
