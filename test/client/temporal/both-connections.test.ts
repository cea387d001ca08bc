import { Connection } from "@temporalio/client";
import { NativeConnection } from "@temporalio/worker";
import { expect, onTestFinished, test } from "vitest";
import { isAway, isNotLetIn } from "../../../src/client/temporal/grpc-status.js";
import { notLetIn, unreadyWords } from "../../../src/client/temporal/temporal-words.js";
import { type GrpcAnswer, answeringTemporal } from "../../fakes/answering-temporal.js";
import { quietRuntime } from "../../fakes/quiet-runtime.js";

/** A silence is over then; what is said may take its time. */
const SILENT_MS = 1_000;
const ANSWER_MS = 60_000;
const AWAY = { isAway: true, isBarred: false, words: undefined };
const barred = (reason: string) => ({
  isAway: false,
  isBarred: true,
  words: notLetIn(reason),
});
const refused = (words: string) => ({ isAway: false, isBarred: false, words });

/** What is made of an answer that a program's connection has had, and a worker's own. */
async function understood(answer: GrpcAnswer) {
  quietRuntime();
  const address = await answeringTemporal({ DescribeNamespace: answer });
  const connections = [
    Connection.lazy({ address, interceptors: [] }), // a worker's asks again by itself, whatever it is told
    await NativeConnection.connect({ address }),
  ];
  onTestFinished(async () => void (await Promise.all(connections.map((each) => each.close()))));
  const asked = connections.map(async (connection) => {
    const deadline = Date.now() + (answer === "silence" ? SILENT_MS : ANSWER_MS);
    const described = connection.withDeadline(deadline, () =>
      connection.workflowService.describeNamespace({ namespace: "away" }),
    );
    const error: unknown = await described.catch((thrown: unknown) => thrown);
    return { isAway: isAway(error), isBarred: isNotLetIn(error), words: unreadyWords(error) };
  });
  return Promise.all(asked);
}

const SAID: readonly (readonly [GrpcAnswer, object])[] = [
  ["silence", AWAY],
  ["reset", AWAY],
  ["cut", AWAY],
  [{ page: 502 }, AWAY],
  [{ code: 7, details: "Request unauthorized." }, barred("Request unauthorized")],
  [{ code: 16, details: "" }, barred("nothing more is said")],
  [
    { code: 5, details: "Namespace away is not found." },
    refused("Namespace away is not found. TEMPORAL_NAMESPACE names it. See: interlock doctor"),
  ],
  [{ code: 3, details: "Too long." }, refused("Temporal refuses this: Too long.")],
];

test("whatever Temporal says, or leaves unsaid, a worker's own connection is understood as a program's", async () => {
  const found = SAID.map(async ([answer]) => [answer, ...(await understood(answer))]);
  expect(await Promise.all(found)).toEqual(SAID.map(([answer, expected]) => [answer, expected, expected]));
});
