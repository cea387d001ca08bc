import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Writes a Temporal CLI into `dir` whose dev server suggests continue-as-new after so many events, and returns its path: users
 * of the product have no way to ask for that.
 */
export function writeEarlyCli(dir: string, cliPath: string, events: number): string {
  const wrapper = join(dir, "temporal.sh");
  const early = `--dynamic-config-value limit.historyCount.suggestContinueAsNew=${events}`;
  writeFileSync(
    wrapper,
    `#!/bin/sh\nif [ "$1" = server ]; then exec '${cliPath}' "$@" ${early}; fi\nexec '${cliPath}' "$@"\n`,
  );
  chmodSync(wrapper, 0o755);
  return wrapper;
}
