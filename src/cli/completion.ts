import { join } from "node:path";
import { ShellCompDirective } from "@bomb.sh/tab";
import tab from "@bomb.sh/tab/commander";
import type { Command } from "commander";
import { printable } from "../core/printable.js";
import { loadConfig } from "../config.js";
import { standsThere } from "../store/disk/own-file.js";
import { openStore } from "../store/store.js";
import { printBlock } from "./terminal/output.js";

/** What the tab key is offered at most: who has more runs types the beginning of one. */
const MAX_RUNS = 200;

const FILES_OTHERWISE = ShellCompDirective.ShellCompDirectiveDefault;

/**
 * The library's scripts for bash and zsh give what is being typed to `eval`: the tab key ran each `$(…)` in it and emptied the
 * file behind a `>`. That for bash also wants another package's functions, and offers no files. Here a word is only ever a word.
 */
const FOR_BASH = `# bash completion for interlock
__interlock_complete() {
    local line current="\${COMP_WORDS[COMP_CWORD]}"
    COMPREPLY=()
    while IFS= read -r line; do
        line="\${line%%$'\\t'*}"
        [[ $line != :* && $line == "$current"* ]] && COMPREPLY+=("$line")
    done < <(interlock complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
}
complete -o bashdefault -o default -F __interlock_complete interlock`;
const FOR_ZSH = `#compdef interlock
compdef _interlock interlock
_interlock() {
    local line
    local -a values shown
    for line in "\${(@f)$(interlock complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)}"; do
        [[ -z $line || $line == :* ]] && continue
        values+=(\${line%%$'\\t'*})
        shown+=(\${line/$'\\t'/ -- })
    done
    compadd -l -d shown -a values || _files
}
if [[ $funcstack[1] == _interlock ]]; then _interlock; fi`;
const SCRIPTS: ReadonlyMap<string, string> = new Map([
  ["bash", FOR_BASH],
  ["zsh", FOR_ZSH],
]);

interface Completion {
  readonly value: string;
  readonly description: string;
}

/**
 * Adds the command `completion`, which prints a script for a shell, and the hidden `complete`, which that script asks at
 * each tab key. Runs are offered as the store at hand knows them.
 */
export async function addCompletion(program: Command): Promise<void> {
  const completion = tab(program, { completionCommandName: "completion" });
  // The library always says that no files are meant; many arguments are some. Shells then offer them where nothing else is offered.
  Object.defineProperty(completion, "directive", { get: () => FILES_OTHERWISE, set: keepsIt });
  const printing = program.commands.find((command) => command.name() === "completion");
  printing?.action((shell: string) => {
    const script = SCRIPTS.get(shell);
    if (script !== undefined) printBlock(script);
    else completion.setup("interlock", "interlock", shell);
  });
  const runs = await runsAtHand().catch((): readonly Completion[] => []); // the tab key has no place for a sentence
  for (const command of completion.commands.values()) {
    for (const argument of command.arguments.values()) {
      if (!argument.name.startsWith("runId")) continue;
      argument.handler = (complete) => {
        for (const { value, description } of runs) complete(value, description);
      };
    }
  }
}

/** A setter that takes nothing. */
function keepsIt(): void {}

/** The newest first. A store that is not there is not made. */
async function runsAtHand(): Promise<readonly Completion[]> {
  const { storeDir, taskQueue, roots } = loadConfig();
  if (!standsThere(join(storeDir, "store.json"))) return [];
  const { runs } = await (await openStore(storeDir, taskQueue, roots)).runs.surveyRuns();
  const newest = [...runs]
    .sort((one, other) => (one.createdAt < other.createdAt ? 1 : -1))
    .slice(0, MAX_RUNS);
  return newest.map(({ runId, phase, packageId }) => ({
    value: runId,
    description: printable(`${phase} ${packageId}`),
  }));
}
