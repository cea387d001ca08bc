import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { signerFor } from "../../../src/cli/session/signer.js";
import { loadConfig } from "../../../src/config.js";
import { startStatement } from "../../../src/contract/signed.js";
import { StartSignatures, hasStartSecret, startSigner } from "../../../src/store/start-signatures.js";
import { openStore } from "../../../src/store/store.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

const statement = startStatement({ workflow: "graphRun", workflowId: "story-7", input: {} });

async function newStore() {
  const dir = await temporaryDirectory();
  return openStore(dir);
}

test("a command that is not told of signed starts signs for a store whose secret was removed to exchange it, and for no other", async () => {
  const store = await newStore();
  const config = loadConfig({ INTERLOCK_STORE: store.dir });
  expect(await signerFor(config, store)).toBeUndefined();
  await startSigner(store); // as a worker that takes signed starts
  await rm(join(store.dir, "starts.secret"));
  const sign = await signerFor(config, store);
  expect(hasStartSecret(store)).toBe(false); // whoever signs nothing makes none
  const signature = await sign?.(statement);
  const worker = await StartSignatures.open(store);
  expect(await worker.admits(statement, signature, "a")).toBe(true);
});
