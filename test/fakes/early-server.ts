import { chmodSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SEARCH_ATTRIBUTES } from "../../src/contract/names.js";
import { findTemporalCli } from "../../src/embedded/find-cli.js";
import { acquireEmbeddedServer } from "../../src/embedded/server.js";
import { removeFolder } from "./remove-folder.js";

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

/** Histories this long are suggested to be continued as new: short enough to be committed. */
const EVENTS_BEFORE_CONTINUE_AS_NEW = 120;

export interface EarlyServer {
  readonly address: string;
  /** Where it keeps its database and its log. */
  readonly dir: string;
  close(): Promise<void>;
}

/** A real server that suggests continue-as-new early. */
export async function startEarlyServer(cacheDir: string): Promise<EarlyServer> {
  const pathVariable = process.env["PATH"] ?? "";
  const storeDir = await mkdtemp(join(tmpdir(), "interlock-early-"));
  const cli = await findTemporalCli({ cacheDir, pathVariable });
  const server = await acquireEmbeddedServer({
    cliPath: writeEarlyCli(storeDir, cli.path, EVENTS_BEFORE_CONTINUE_AS_NEW),
    storeDir,
    cacheDir,
    pathVariable,
    searchAttributes: SEARCH_ATTRIBUTES,
  });
  return {
    address: server.address,
    dir: storeDir,
    async close() {
      await server.release();
      await removeFolder(storeDir);
    },
  };
}
