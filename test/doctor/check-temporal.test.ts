import { expect, test } from "vitest";
import { checkSeal } from "../../src/doctor/check-seal.js";
import { checkTemporal } from "../../src/doctor/check-temporal.js";
import { type GrpcAnswer, answeringTemporal } from "../fakes/answering-temporal.js";

const INVALID_ARGUMENT = 3;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const UNAVAILABLE = 14;
const KEYWORD = 2;
const TEXT = 1;

async function look(answers: Parameters<typeof answeringTemporal>[0]) {
  const address = await answeringTemporal(answers);
  const queue = { storeId: "store-1", taskQueue: "interlock" };
  const place = { connection: { address }, namespace: "shop", ...queue, embedded: false };
  const findings = await checkTemporal(place);
  return (name: string) => findings.find((finding) => finding.name === name);
}

/** `ListSearchAttributesResponse` of Temporal's API: a map of names to types. */
function attributesOf(types: Readonly<Record<string, number>>): GrpcAnswer {
  const entries = Object.entries(types).map(([name, type]) => {
    const entry = Buffer.from([0x0a, name.length, ...Buffer.from(name), 0x10, type]);
    return Buffer.from([0x0a, entry.length, ...entry]);
  });
  return { message: Buffer.concat(entries) };
}

test("a server that is asked too much has no wrong address, and its namespace is closed to nobody", async () => {
  const tooMuch = { code: RESOURCE_EXHAUSTED, details: "namespace rate limit exceeded" };
  const remedy = expect.stringContaining("Look again later") as string;
  const namespace = (await look({ DescribeNamespace: tooMuch }))("namespace");
  expect(namespace).toMatchObject({ found: "shop: namespace rate limit exceeded", remedy });
  expect((await look({ GetSystemInfo: tooMuch }))("temporal")).toMatchObject({ status: "failed", remedy });
});

test("a namespace that is closed to a key is named so", async () => {
  const closed = { code: PERMISSION_DENIED, details: "Request unauthorized." };
  const finding = (await look({ DescribeNamespace: closed }))("namespace");
  expect(finding?.remedy).toContain("Let this key or certificate into the namespace");
});

test("a key that may read a namespace and not write is named before a run is refused, and the rest is looked at", async () => {
  const refused = { code: PERMISSION_DENIED, details: "Request unauthorized." };
  const found = await look({ ResetStickyTaskQueue: refused, ListSearchAttributes: attributesOf({}) });
  expect(found("rights")).toMatchObject({
    status: "failed",
    found: expect.stringContaining("not write (Request unauthorized.)") as string,
    remedy: expect.stringContaining("the rights of a writer") as string,
  });
  expect(found("workers")?.status).toBe("warning");
  const notFound = { code: INVALID_ARGUMENT, details: "Execution is not set on request." };
  expect((await look({ ResetStickyTaskQueue: notFound }))("rights")?.status).toBe("ok");
});

test("what a namespace has is asked side by side: an answer that takes long leaves no less time for the others", async () => {
  let asked = 0;
  let allAsked: (answer: GrpcAnswer) => void;
  const answer = new Promise<GrpcAnswer>((resolve) => (allAsked = resolve));
  const questions = [
    "DescribeNamespace",
    "ResetStickyTaskQueue",
    "ListSearchAttributes",
    "DescribeTaskQueue",
  ];
  const late = () => {
    asked += 1;
    if (asked === questions.length) allAsked({ message: Buffer.alloc(0) });
    return answer;
  };
  const found = await look(Object.fromEntries(questions.map((question) => [question, late])));
  expect(found("namespace")?.status).toBe("ok");
  expect(found("rights")?.status).toBe("ok");
  expect(found("search attributes")?.found).toMatch(/^missing: /);
  expect(found("workers")?.found).toMatch(/^none at /);
});

test("that nobody works on a queue is told also where Temporal does not say which stores there are", async () => {
  const away = { code: UNAVAILABLE, details: "visibility store is down" };
  const found = await look({ ListWorkflowExecutions: away });
  expect(found("workers")).toMatchObject({ status: "warning", remedy: "interlock worker" });
});

test("attributes of other types may be somebody else's: a namespace of its own is advised before they are removed", async () => {
  const attributes = attributesOf({ RunPhase: TEXT, RunNode: KEYWORD });
  const finding = (await look({ ListSearchAttributes: attributes }))("search attributes");
  expect(finding).toMatchObject({
    status: "warning",
    found: "no keywords: RunPhase; runs work, but cannot be searched for",
    remedy: expect.stringMatching(/^Give runs a namespace of their own/) as string,
  });
});

test("what sealed histories are not told is said as the server says it, without gRPC's own number", async () => {
  const address = await answeringTemporal({
    ListWorkflowExecutions: { code: PERMISSION_DENIED, details: "Request unauthorized." },
  });
  const place = { connection: { address }, namespace: "shop", taskQueue: "interlock", embedded: false };
  const [finding] = await checkSeal(undefined, place);
  expect(finding?.found).toBe("no keys; Temporal does not tell: Request unauthorized.");
});
