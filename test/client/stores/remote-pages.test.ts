import { ActivityExecutionFailedError, type Client, ServiceError } from "@temporalio/client";
import { ApplicationFailure, TimeoutFailure, type TimeoutType } from "@temporalio/common";
import { describe, expect, test } from "vitest";
import { remotePages } from "../../../src/client/stores/remote-pages.js";
import type { StoreQuestionName } from "../../../src/contract/reads.js";
import { grpc } from "../../fakes/grpc-error.js";

/** A store on a server where each question ends so, and how it was asked last. */
function storeThat(failsWith: Error) {
  const asked: { retry?: { maximumAttempts: number }; startToCloseTimeout?: number }[] = [];
  const temporal = {
    activity: {
      start: (_: string, options: (typeof asked)[number]) => {
        asked.push(options);
        const error = new ActivityExecutionFailedError("Activity execution failed", failsWith, "id", "run");
        return Promise.resolve({ runId: "run", result: () => Promise.reject(error) });
      },
    },
    workflowService: { deleteActivityExecution: () => Promise.resolve({}) },
    connection: {},
  };
  // all that is asked of it here
  const pages = remotePages({ temporal: temporal as unknown as Client, namespace: "x", taskQueue: "office" });
  return { asked, ask: (name: StoreQuestionName) => pages(name, { question: { run: "r" } }) };
}

const timeout = (type: TimeoutType) => new TimeoutFailure(undefined, undefined, type);

describe("a question to a store", () => {
  test("that nobody takes, and one that is taken and not answered, say so and in different words", async () => {
    const untaken = await storeThat(timeout("SCHEDULE_TO_START")).ask("read.run");
    const hanging = await storeThat(timeout("START_TO_CLOSE")).ask("read.run");
    const code = "E_PRECONDITION_FAILED";
    expect(untaken).toMatchObject({ ok: false, error: { code, details: { nobodyAnswers: true } } });
    expect(hanging).toMatchObject({ ok: false, error: { code, details: { nobodyAnswers: true } } });
    expect(untaken).toMatchObject({ error: { message: expect.stringContaining("nobody polls") as string } });
    expect(hanging).toMatchObject({
      error: { message: expect.stringContaining("does not answer") as string },
    });
  });

  test("that whoever asks has no right to put is refused in words, so that what needs no store is shown all the same", async () => {
    const cause = grpc(7, "Request unauthorized.");
    const start = () => Promise.reject(new ServiceError("Failed to start activity", { cause }));
    const temporal = { activity: { start }, connection: {} } as unknown as Client; // all that is asked of it here
    const pages = remotePages({ temporal, namespace: "x", taskQueue: "office" });
    const message = expect.stringContaining("does not let this in (Request unauthorized)") as string;
    await expect(pages("read.run", { question: { run: "r" } })).resolves.toMatchObject({
      ok: false,
      error: { code: "E_PRECONDITION_FAILED", message },
    });
  });

  test("that only reads is asked once more, of another worker, within the same time; a change is not", async () => {
    const { asked, ask } = storeThat(timeout("START_TO_CLOSE"));
    await ask("read.run");
    await ask("package.install");
    expect(asked).toMatchObject([
      { retry: { maximumAttempts: 2 }, startToCloseTimeout: 30_000 },
      { retry: { maximumAttempts: 1 }, startToCloseTimeout: 60_000 },
    ]);
  });

  test("that the worker fails at is a fault with the words of what went wrong there", async () => {
    const answer = await storeThat(ApplicationFailure.nonRetryable("ENOENT: no such file")).ask("read.run");
    expect(answer).toMatchObject({ ok: false, error: { code: "E_INTERNAL" } });
    expect(answer).toMatchObject({
      error: { message: expect.stringContaining("ENOENT: no such file") as string },
    });
  });
});
