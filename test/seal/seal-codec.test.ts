import { randomBytes } from "node:crypto";
import { type Payload, type SerializationContext, defaultPayloadConverter } from "@temporalio/common";
import { describe, expect, test } from "vitest";
import { SealCodec } from "../../src/seal/seal-codec.js";
import { SealError } from "../../src/seal/seal-error.js";
import { parseSealKeys } from "../../src/seal/seal-keys.js";
import { unopenedIn } from "../../src/seal/unopened.js";

const key = (id: string, byte: number): string => `${id}:${Buffer.alloc(32, byte).toString("base64")}`;
const keys = (...entries: string[]) => parseSealKeys(entries.join("\n"));
const ONE = keys(key("k1", 1));
const workflow = (workflowId: string): SerializationContext => ({
  type: "workflow",
  namespace: "n",
  workflowId,
});
const RUN = workflow("run-a");
const PLAIN = defaultPayloadConverter.toPayload({ said: "blue" });

const client = (of: ReturnType<typeof keys> | undefined) => new SealCodec(of, "client");
async function sealed(context?: SerializationContext, of = ONE): Promise<Payload> {
  const [payload] = await client(of).encode([PLAIN], context);
  return payload ?? {};
}
async function opened(
  payload: Payload,
  of: ReturnType<typeof keys> | undefined,
  context?: SerializationContext,
) {
  const [plain] = await client(of).decode([payload], context);
  return defaultPayloadConverter.fromPayload(plain ?? {});
}
const problem = (payload: Payload, of: ReturnType<typeof keys> | undefined, context?: SerializationContext) =>
  opened(payload, of, context).then(
    () => "opened",
    (error: unknown) => (error instanceof SealError ? error.reason : String(error)),
  );
const withBytes = (payload: Payload, change: (bytes: Buffer) => Buffer): Payload => ({
  ...payload,
  data: change(Buffer.from(payload.data ?? [])),
});

describe("what is sealed", () => {
  test("holds nothing of the value, and is another thing each time", async () => {
    const [one, other] = [await sealed(RUN), await sealed(RUN)];
    expect(Buffer.from(one.data ?? []).includes("blue")).toBe(false);
    expect(Buffer.from(one.data ?? [])).not.toEqual(Buffer.from(other.data ?? []));
    expect(Object.keys(one.metadata ?? {})).toEqual([
      "encoding",
      "encryption-key-id",
      "encryption-key-check",
      "encryption-context",
    ]);
    expect(await opened(one, ONE, RUN)).toEqual({ said: "blue" });
  });

  test("a value of nothing, bytes, and one of a megabyte come back as they were", async () => {
    for (const value of [undefined, null, new Uint8Array([0, 255]), "x".repeat(1 << 20)]) {
      const payload = defaultPayloadConverter.toPayload(value);
      const codec = client(ONE);
      const [back = {}] = await codec.decode(await codec.encode([payload], RUN), RUN);
      expect(defaultPayloadConverter.fromPayload(back)).toEqual(value);
    }
  });

  test("any byte that is changed, cut off or added shows", async () => {
    const payload = await sealed(RUN);
    const length = payload.data?.length ?? 0;
    for (let index = 0; index < length; index += 1) {
      const flipped = withBytes(payload, (bytes) => {
        bytes[index] = (bytes[index] ?? 0) ^ 1;
        return bytes;
      });
      expect(await problem(flipped, ONE, RUN)).toBe("altered");
      expect(
        await problem(
          withBytes(payload, (bytes) => bytes.subarray(0, index)),
          ONE,
          RUN,
        ),
      ).toBe("altered");
    }
    expect(
      await problem(
        withBytes(payload, (bytes) => Buffer.concat([bytes, bytes])),
        ONE,
        RUN,
      ),
    ).toBe("altered");
  });

  test("it opens where it was sealed for, whoever says it is for elsewhere", async () => {
    const payload = await sealed(RUN);
    expect(await problem(payload, ONE, workflow("run-b"))).toBe("moved");
    const context = Buffer.from("workflow run-b");
    const relabelled = { ...payload, metadata: { ...payload.metadata, "encryption-context": context } };
    expect(await problem(relabelled, ONE, workflow("run-b"))).toBe("altered");
    const unlabelled = { ...payload, metadata: { ...payload.metadata, "encryption-context": Buffer.of() } };
    expect(await problem(unlabelled, ONE, workflow("run-b"))).toBe("altered");
    const activity: SerializationContext = {
      type: "activity",
      namespace: "n",
      workflowId: "run-a",
      activityId: "7",
      isLocal: true,
    };
    expect(await opened(payload, ONE, activity)).toEqual({ said: "blue" });
    expect(await opened(payload, ONE)).toEqual({ said: "blue" }); // a codec server is not told where
  });

  test("a question to a store belongs to its activity", async () => {
    const asked = (activityId: string): SerializationContext => ({
      type: "activity",
      namespace: "n",
      activityId,
      isLocal: false,
    });
    const payload = await sealed(asked("one"));
    expect(await opened(payload, ONE, asked("one"))).toEqual({ said: "blue" });
    expect(await problem(payload, ONE, asked("two"))).toBe("moved");
    const refused = await sealed({ ...asked("one"), workflowId: "" }); // as a worker's SDK says where it fails
    expect(await opened(refused, ONE, asked("one"))).toEqual({ said: "blue" });
    expect(await problem(refused, ONE, asked("two"))).toBe("moved");
  });

  test("what a schedule starts is what was sealed for the schedule, and nothing else that begins so", async () => {
    const payload = await sealed(workflow("nightly"));
    expect(await opened(payload, ONE, workflow("nightly-2026-11-22T03:00:00Z"))).toEqual({ said: "blue" });
    for (const other of ["nightly-2", "nightly-2026-11-22T03:00:00Z-x", "nightl"]) {
      expect(await problem(payload, ONE, workflow(other))).toBe("moved");
    }
  });
});

describe("keys", () => {
  test("the first one seals, all of them open: a key is exchanged without a gap", async () => {
    const old = await sealed(RUN, keys(key("k1", 1)));
    const both = keys(key("k2", 2), key("k1", 1));
    const fresh = await sealed(RUN, both);
    expect(Buffer.from(fresh.metadata?.["encryption-key-id"] ?? []).toString()).toBe("k2");
    expect(await opened(old, both, RUN)).toEqual({ said: "blue" });
    expect(await opened(fresh, both, RUN)).toEqual({ said: "blue" });
    expect(await opened(fresh, keys(key("k1", 1), key("k2", 2)), RUN)).toEqual({ said: "blue" });
  });

  test("with `plain` in the first one's place nothing is sealed yet, and all is read", async () => {
    const reading = keys("plain", key("k1", 1));
    expect(await client(reading).encode([PLAIN], RUN)).toEqual([PLAIN]);
    expect(await opened(await sealed(RUN), reading, RUN)).toEqual({ said: "blue" });
    expect(await opened(PLAIN, ONE, RUN)).toEqual({ said: "blue" });
  });

  test("no key, another one's id, and another key under the same id are told apart, with what to do", async () => {
    const payload = await sealed(RUN);
    await expect(opened(payload, undefined, RUN)).rejects.toThrow(
      /"k1".*no key here.*INTERLOCK_SEAL_KEYS_FILE/,
    );
    await expect(opened(payload, keys(key("k9", 9)), RUN)).rejects.toThrow(
      /"k1".*not among those here \("k9"\).*Add it/,
    );
    await expect(opened(payload, keys(key("k1", 9)), RUN)).rejects.toThrow(/"k1".*is another one/);
    expect(await problem(payload, undefined, RUN)).toBe("no key");
    expect(await problem(payload, keys(key("k9", 9)), RUN)).toBe("unknown key");
    expect(await problem(payload, keys(key("k1", 9)), RUN)).toBe("wrong key");
  });

  test("a list of keys that cannot be used is refused without a word of a key", () => {
    const secret = randomBytes(32).toString("base64");
    for (const text of [
      "",
      "# nothing",
      secret,
      `k1:${secret.slice(4)}`,
      `k1:${secret}A`,
      `k 1:${secret}`,
      `k1:${secret}\nk1:${randomBytes(32).toString("base64")}`,
      "plain",
      `k1:${secret}\nplain`,
      `plain:${secret}`,
    ]) {
      let message = "taken";
      try {
        parseSealKeys(text);
      } catch (error) {
        message = String(error);
      }
      expect([text, message]).not.toEqual([text, "taken"]);
      expect(message).not.toContain(secret.slice(4, 20));
    }
    const { writer, readers } = parseSealKeys(
      `# keys\nk2:${secret} , k1:${randomBytes(32).toString("base64")}\n\n`,
    );
    expect([writer?.id, [...readers.keys()]]).toEqual(["k2", ["k2", "k1"]]);
  });
});

test("what others have encrypted, under no key of ours, is handed on as it is", async () => {
  const foreign = { metadata: { encoding: Buffer.from("binary/encrypted") }, data: Buffer.from("x") };
  for (const of of [ONE, undefined]) expect(await client(of).decode([foreign], RUN)).toEqual([foreign]);
});

test("in a worker, what belongs to a workflow is handed on with the reason, and what an activity needs is refused", async () => {
  const worker = new SealCodec(undefined, "worker");
  const payload = await sealed(RUN);
  const [left] = await worker.decode([payload], RUN);
  expect(left?.data).toEqual(payload.data);
  expect(Buffer.from(left?.metadata?.["interlock-unopened"] ?? []).toString()).toContain("no key here");
  const activity: SerializationContext = {
    type: "activity",
    namespace: "n",
    workflowId: "run-a",
    activityId: "7",
    isLocal: false,
  };
  await expect(worker.decode([payload], activity)).rejects.toThrow(SealError);
});

test("of a history, the first payload that no key here opens says why, wherever it stands", async () => {
  const { metadata, data } = await sealed(RUN, keys(key("k2", 2)));
  const events = [
    { startedAttributes: { input: { payloads: [PLAIN, await sealed(RUN)] } } },
    { failedAttributes: { failure: { encodedAttributes: { metadata, data } } } },
  ];
  expect((await unopenedIn({ events }, client(ONE)))?.reason).toBe("unknown key");
  expect((await unopenedIn({ events }, client(undefined)))?.message).toContain('the key "k1"');
  expect(await unopenedIn({ events: events.slice(0, 1) }, client(ONE))).toBeUndefined();
});
