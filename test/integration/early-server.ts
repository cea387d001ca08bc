import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SEARCH_ATTRIBUTES } from "../../src/contract/names.js";
import { findTemporalCli } from "../../src/embedded/find-cli.js";
import { acquireEmbeddedServer } from "../../src/embedded/server.js";

/** Histories this long are suggested to be continued as new: short enough to be committed. */
const EVENTS_BEFORE_CONTINUE_AS_NEW = 120;

export interface EarlyServer {
  readonly address: string;
  close(): Promise<void>;
}

/** A real server that suggests continue-as-new early. */
export async function startEarlyServer(cacheDir: string): Promise<EarlyServer> {
  const pathVariable = process.env["PATH"] ?? "";
  const storeDir = await mkdtemp(join(tmpdir(), "interlock-early-"));
  const cli = await findTemporalCli({ cacheDir, pathVariable });
  const wrapper = join(storeDir, "temporal.sh");
  const early = `--dynamic-config-value limit.historyCount.suggestContinueAsNew=${EVENTS_BEFORE_CONTINUE_AS_NEW}`;
  await writeFile(
    wrapper,
    `#!/bin/sh\nif [ "$1" = server ]; then exec '${cli.path}' "$@" ${early}; fi\nexec '${cli.path}' "$@"\n`,
  );
  await chmod(wrapper, 0o755);
  const server = await acquireEmbeddedServer({
    cliPath: wrapper,
    storeDir,
    cacheDir,
    pathVariable,
    searchAttributes: SEARCH_ATTRIBUTES,
  });
  return {
    address: server.address,
    async close() {
      await server.release();
      await rm(storeDir, { recursive: true, force: true });
    },
  };
}
