import { randomBytes } from "node:crypto";
import { type Payload, defaultPayloadConverter } from "@temporalio/common";
import type { History } from "@temporalio/common/lib/proto-utils.js";
import { expect, test } from "vitest";
import { newestAuditHead } from "../../../src/client/runs/audit-head.js";
import { withResults } from "../../../src/client/temporal/payloads.js";
import { SealCodec } from "../../../src/seal/seal-codec.js";
import { parseSealKeys } from "../../../src/seal/seal-keys.js";

const entry = (id: string): string => `${id}:${randomBytes(32).toString("base64")}`;
const [K1, K2] = [entry("k1"), entry("k2")];
const PLACE = { type: "workflow", namespace: "x", workflowId: "run-1" } as const;

const headOf = (lines: number) => ({ audit: { lines, sha256: `${lines}` } });

/** Results of activities, each sealed with the first of some keys. */
async function historyOf(...results: readonly (readonly [keys: string, result: object])[]) {
  const events = results.map(async ([keys, result]) => ({
    activityTaskCompletedEventAttributes: { result: { payloads: await sealed(keys, result) } },
  }));
  return { events: await Promise.all(events) };
}

function sealed(keys: string, result: object): Promise<Payload[]> {
  return new SealCodec(parseSealKeys(keys), "client").encode(
    [defaultPayloadConverter.toPayload(result)],
    PLACE,
  );
}

/** Whoever has these keys reads a history. */
async function readBy(keys: string | undefined, history: Parameters<typeof newestAuditHead>[0]) {
  const codec = new SealCodec(keys === undefined ? undefined : parseSealKeys(keys), "client");
  const loadedDataConverter = { payloadCodecs: [codec] };
  const reader = { options: { loadedDataConverter, namespace: "x" } } as unknown as Parameters<
    typeof withResults
  >[0]; // all that is asked of it
  return newestAuditHead(await withResults(reader, history as History, PLACE.workflowId)); // all that is read of it
}

test("a head that nobody here can open is not taken for none, nor an earlier one for the newest", async () => {
  const history = await historyOf([K1, headOf(2)], [K2, headOf(5)], [K2, { ok: true }]);
  expect(await readBy(`${K2},${K1}`, history)).toEqual({ lines: 5, sha256: "5" });
  // Without the key that is out of use since: what it has sealed is older.
  expect(await readBy(K2, history)).toEqual({ lines: 5, sha256: "5" });
  for (const [keys, why] of [
    [K1, /sealed with the key "k2", which is not among those here/],
    [undefined, /there is no key here/],
  ] as const) {
    await expect(readBy(keys, history)).rejects.toMatchObject({ code: "E_PRECONDITION_FAILED" });
    await expect(readBy(keys, history)).rejects.toThrow(why);
  }
});

test("a run that has continued as new in a wait, whose histories before are forgotten, has the head that it was handed", async () => {
  const begun = async (continuedExecutionRunId: string) => ({
    workflowExecutionStartedEventAttributes: {
      continuedExecutionRunId,
      input: { payloads: await sealed(K1, { runId: "r", carried: headOf(24) }) },
    },
  });
  const waiting = { events: [await begun("the-one-before")] };
  expect(await readBy(K1, waiting)).toEqual({ lines: 24, sha256: "24" });
  await expect(readBy(K2, waiting)).rejects.toMatchObject({ code: "E_PRECONDITION_FAILED" });
  const { events: later } = await historyOf([K1, headOf(25)]);
  expect(await readBy(K1, { events: [...waiting.events, ...later] })).toEqual({ lines: 25, sha256: "25" });
  // Whoever starts a run says what they like.
  expect(await readBy(K1, { events: [await begun("")] })).toBeUndefined();
});
