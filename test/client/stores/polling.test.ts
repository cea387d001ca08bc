import { expect, test } from "vitest";
import { PERMISSION_DENIED, UNAVAILABLE, UNIMPLEMENTED } from "../../../src/client/temporal/grpc-status.js";
import type { Lister } from "../../../src/client/temporal/list-executions.js";
import { pollingOf } from "../../../src/client/stores/stores.js";

const MINUTE = 60_000;

/** A server that has heard from these pollers so long ago by the clock of this machine; undefined: it does not say when. */
function serverWith(...agesMs: readonly (number | undefined)[]): Lister {
  const pollers = agesMs.map((age, index) => ({
    identity: `${index}@host`,
    lastAccessTime: age === undefined ? null : { seconds: Math.floor((Date.now() - age) / 1_000), nanos: 0 },
  }));
  const workflowService = { describeTaskQueue: () => Promise.resolve({ pollers }) };
  return { options: { namespace: "default" }, workflowService } as unknown as Lister; // all that is asked of it
}

const isPolled = async (temporal: Lister, mayLive?: (identity: string) => boolean) =>
  (await pollingOf(temporal, "queue", mayLive)).polled;

test("a queue is polled by who has polled within a minute, and not by who has done so before", async () => {
  expect(await isPolled(serverWith(4 * MINUTE, 30_000))).toBe(true);
  expect(await isPolled(serverWith(4 * MINUTE, 2 * MINUTE))).toBe(false);
  expect(await isPolled(serverWith(30_000), () => false)).toBe(false);
  expect(await isPolled(serverWith())).toBe(false);
  expect(await isPolled(serverWith(undefined))).toBe(false);
});

test("a clock hours ahead of Temporal's, or behind, takes no worker away", async () => {
  expect(await isPolled(serverWith(180 * MINUTE))).toBe(true);
  expect(await isPolled(serverWith(184 * MINUTE, 180 * MINUTE))).toBe(true);
  expect(await isPolled(serverWith(-180 * MINUTE))).toBe(true);
  expect(await isPolled(serverWith(180 * MINUTE), () => false)).toBe(false);
});

test("where Temporal does not tell whoever asks, nobody is said to be missing: a command says what it did, and no more", async () => {
  const refusing = (code: number): Lister => {
    const refused = Object.assign(new Error("refused"), { code, details: "refused", metadata: {} });
    const workflowService = { describeTaskQueue: () => Promise.reject(refused) };
    return { options: { namespace: "default" }, workflowService } as unknown as Lister; // as above
  };
  expect(await isPolled(refusing(PERMISSION_DENIED))).toBe(true);
  expect(await isPolled(refusing(UNIMPLEMENTED))).toBe(true);
  await expect(isPolled(refusing(UNAVAILABLE))).rejects.toThrow("refused");
});
