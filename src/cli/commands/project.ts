import { resolve } from "node:path";
import type { Config } from "../../config.js";
import { shellWord } from "../../core/text.js";
import type { JsonAnswers } from "../../contract/reads.js";
import { openEnvironment, storeAtHand } from "../session/environment.js";
import { EXIT, type ExitCode, print, printJson, printNote, usable } from "../terminal/output.js";
import { withStore } from "../session/store-place.js";
import type { JsonChoice } from "../options/common-options.js";

/** `interlock project add`: runs of this store may work in a directory from now on. Again, it is the same. */
export async function projectAddCommand(
  dir: string,
  options: { readOnly?: boolean; json?: boolean },
): Promise<ExitCode> {
  const { store } = await openEnvironment();
  const access = options.readOnly === true ? "read" : "write";
  const root = usable(await store.roots.add(resolve(dir), access));
  if (options.json === true) printJson({ ok: true, path: root.path, access: root.access });
  else print(`Runs of this store may ${root.access === "write" ? "work in" : "read"} ${root.path}`);
  if (root.access !== access)
    printNote(
      `They may write there as before: it was registered for that. First: interlock project remove ${shellWord(root.path, "<dir>")}`,
    );
  return EXIT.done;
}

/** `interlock project remove`: from their next step on, runs are refused there. What is not registered stays so. */
export async function projectRemoveCommand(dir: string, options: JsonChoice): Promise<ExitCode> {
  const { store } = await storeAtHand();
  const path = resolve(dir);
  const removed = await store.roots.remove(path);
  const stays = store.roots.permit(path, "read").ok;
  if (options.json === true) printJson({ ok: true, path, removed, permitted: stays });
  else {
    print(removed ? `${path} is registered no longer.` : `${path} was not registered.`);
    if (stays) print("It stays open to runs: it lies in another root. See: interlock project list");
  }
  return EXIT.done;
}

/** `interlock project list`: where runs of this store may work. */
export async function projectListCommand(options: JsonChoice): Promise<ExitCode> {
  const none = ({ roots: { projectRoots = [] } }: Config): JsonAnswers["read.projects"] => {
    return { roots: [], configured: projectRoots };
  };
  const { roots, configured } = await withStore({ makes: false, none }, async ({ reader }) =>
    usable(await reader.ask("read.projects", {})),
  );
  if (options.json === true) {
    printJson({ roots, configured });
    return EXIT.done;
  }
  if (roots.length + configured.length === 0)
    print("No projects yet. Register one with: interlock project add <dir>");
  for (const { path, access, state } of roots) {
    print(`${access.padEnd(5)}  ${path}${state === "ok" ? "" : `  (${state})`}`);
  }
  for (const path of configured) print(`write  ${path} and all below  (configured)`);
  return EXIT.done;
}
