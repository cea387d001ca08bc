import { resolve } from "node:path";
import { InterlockError } from "../../client/client.js";
import { archivedBy, writeExport } from "../../client/export-run.js";
import { CommandError, EXIT, type ExitCode, print, printJson, printNote } from "../terminal/output.js";
import { read } from "../session/run-folder.js";
import { withRunOrFiles } from "../session/run-session.js";
import { counted } from "../../core/text.js";

/** `interlock export`: everything that is known of a run, in one archive. */
export async function exportCommand(
  id: string,
  options: { output?: string; json?: boolean },
): Promise<ExitCode> {
  return withRunOrFiles(id, async ({ reader, run }) => {
    const { metadata } = read(id, await reader.ask("read.run", { run: id }));
    const { runId } = metadata;
    const known = await run?.histories().catch((error: unknown) => {
      if (!(error instanceof InterlockError)) throw error;
      printNote(`Without Temporal's history: ${error.message}`);
      return [];
    });
    const output = resolve(options.output ?? `run-${runId}.zip`);
    const histories = known ?? [];
    const writing = archivedBy(reader, runId).then((files) => writeExport({ output, histories }, files));
    const names = await writing.catch((error: unknown) => {
      if (!(error instanceof InterlockError)) throw error;
      throw new CommandError(error.message, { cause: error });
    });
    if (options.json === true) printJson({ runId, output, entries: names });
    else
      print(
        `${counted(names.length, "file")} of run ${runId} ${names.length === 1 ? "is" : "are"} in ${output}`,
      );
    return EXIT.done;
  });
}
