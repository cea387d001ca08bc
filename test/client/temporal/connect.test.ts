import { createServer } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { InterlockClient } from "../../../src/client/client.js";
import { connect, endedAt } from "../../../src/client/temporal/connect.js";
import { CANCELLED, DEADLINE_EXCEEDED, UNAVAILABLE } from "../../../src/client/temporal/grpc-status.js";
import { listen } from "../../fakes/listen.js";

test("a key that gRPC cannot send is told, and not repeated", async () => {
  const failure = await connect({ address: "127.0.0.1:7233", apiKey: "sk-secret\nx", tls: false }).catch(
    String,
  );
  expect(failure).toContain("a key or another header holds characters that no header can carry");
  expect(failure).not.toContain("sk-secret");
});

test("an address that nothing can be at is refused at once", async () => {
  await expect(connect({ address: "127.0.0.1:99999" })).rejects.toThrow(
    "the address of Temporal must be a host and a port, such as 127.0.0.1:7233",
  );
});

test("an option that there is none of is refused: whoever names an address is not connected to another one", async () => {
  const options = { address: "127.0.0.1:99999" } as object;
  await expect(InterlockClient.connect(options)).rejects.toThrow(
    "what a client connects with has no field address, only connection, namespace",
  );
  await expect(InterlockClient.connect(null as never)).rejects.toThrow(
    "what a client connects with must be an object",
  );
});

test("an address that was silent, and whose connection is then cut, is asked again; what it has said is told in words", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  let connections = 0;
  const silent = createServer((socket) => {
    connections += 1;
    vi.advanceTimersByTime(4_000); // after four seconds each time
    socket.on("error", () => undefined).destroy();
  });
  const port = await listen(silent);
  await expect(connect({ address: `127.0.0.1:${port}` })).rejects.toThrow(/without an answer|within 10 s/);
  expect(connections).toBeGreaterThan(1);
});

describe("a call that its server cancels", () => {
  const cancelled = { code: CANCELLED, details: "Call cancelled", metadata: "kept" };

  test("at its deadline was not answered in time, and was not taken back by whoever asked", () => {
    const late = { code: DEADLINE_EXCEEDED, details: "Deadline exceeded", metadata: "kept" };
    expect(endedAt(cancelled, Date.now() - 1)).toEqual(late);
    expect(endedAt(cancelled, new Date())).toEqual(late);
  });

  test("long before its deadline, or without one, is cancelled; so is what ends with its connection, and what else went wrong stays that", () => {
    expect(endedAt(cancelled, Date.now() + 60_000)).toBe(cancelled);
    expect(endedAt(cancelled, undefined)).toBe(cancelled);
    const closed = { ...cancelled, details: "The connection has been closed." };
    expect(endedAt(closed, Date.now())).toBe(closed);
    const away = { ...cancelled, code: UNAVAILABLE };
    expect(endedAt(away, Date.now())).toBe(away);
  });
});
