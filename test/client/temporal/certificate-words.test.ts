import { expect, test } from "vitest";
import { unreadyWords } from "../../../src/client/temporal/temporal-words.js";
import { grpc } from "../../fakes/grpc-error.js";

const INTERNAL = 13;
const UNAVAILABLE = 14;
const UNCONNECTED = "No connection established. Last error: Error: ";

test.each([
  [UNAVAILABLE, `${UNCONNECTED}certificate has expired.`, "The certificate of Temporal is not accepted"],
  [
    UNAVAILABLE,
    `${UNCONNECTED}40:error:0A000415:SSL routines:ssl3_read_bytes:sslv3 alert certificate expired:../rec.c:1:SSL alert number 45`,
    "Temporal does not take this client's certificate, or wants one (sslv3 alert certificate expired).",
  ],
  [
    INTERNAL,
    "Received HTTP status code 400",
    "Temporal does not take this client's certificate, or wants one (Received HTTP status code 400).",
  ],
])("a certificate that counts no more is named while a program runs: %i %s", (code, details, words) => {
  expect(unreadyWords(grpc(code, details))).toContain(words);
});

test("a Temporal that does not answer, or lets nobody in, is no matter of TLS", () => {
  expect(unreadyWords(grpc(UNAVAILABLE, `${UNCONNECTED}connect ECONNREFUSED 127.0.0.1:1`))).toBeUndefined();
  const closed = unreadyWords(grpc(7, "The certificate is not one of this namespace."));
  expect(closed).toMatch(/^Temporal does not let this in/);
});
