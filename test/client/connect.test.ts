import { expect, test } from "vitest";
import { InterlockClient } from "../../src/client/client.js";
import { connect } from "../../src/client/connect.js";

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
