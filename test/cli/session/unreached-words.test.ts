import { expect, test } from "vitest";
import { unreachedWords } from "../../../src/cli/session/temporal-session.js";
import { grpc } from "../../fakes/grpc-error.js";

test.each([
  "certificate has expired",
  "self-signed certificate in certificate chain",
  "unable to verify the first certificate",
  "unable to get local issuer certificate",
  "Hostname/IP does not match certificate's altnames: IP: 127.0.0.1 is not in the cert's list: ",
])("a certificate that is not accepted is named, and no other address is advised: %s", (reason) => {
  const words = unreachedWords("[::1]:7233", reason);
  expect(words).toContain(`The certificate of [::1]:7233 is not accepted (${reason}).`);
  expect(words).not.toContain("TEMPORAL_ADDRESS");
});

test.each([
  "tlsv13 alert certificate required",
  "sslv3 alert handshake failure", // what TLS 1.2 says of one that is missing
  "sslv3 alert certificate expired",
  "tlsv1 alert unknown ca",
  "tlsv1 alert access denied",
  "Received HTTP status code 400", // what nginx answers where TLS has no word for it
])("what the other side says of a client's certificate is told of that one: %s", (reason) => {
  const words = unreachedWords("a:7233", reason);
  expect(words).toContain(
    `Temporal at a:7233 does not take this client's certificate, or wants one (${reason}).`,
  );
  expect(words).toContain("TEMPORAL_TLS_CLIENT_CERT_PATH");
  expect(words).not.toContain("TEMPORAL_ADDRESS");
});

test("a Temporal that lets nobody in does answer, and no other address is advised", () => {
  const words = unreachedWords("[::1]:7233", "Request unauthorized.", grpc(7, "Request unauthorized."));
  expect(words).toMatch(
    /^Temporal at \[::1\]:7233 does not let this in \(Request unauthorized\)\. TEMPORAL_API_KEY/,
  );
  expect(words).not.toContain("TEMPORAL_ADDRESS");
});

test("where nothing answers the address is to be checked", () => {
  const words = unreachedWords("[::1]:7233", "connect ECONNREFUSED ::1:7233");
  expect(words).toContain("Check TEMPORAL_ADDRESS, or the profile");
});

test.each(["the connection was closed without an answer", "read ECONNRESET", "no TLS is spoken there"])(
  "where something listens the settings of TLS are to be checked too: %s",
  (reason) => {
    const words = unreachedWords("a:7233", reason);
    expect(words).toContain("Check TEMPORAL_ADDRESS and the TLS settings (TEMPORAL_TLS and its kin), or");
  },
);

test("a Temporal that is asked too much is there, at its address", () => {
  const reason = "namespace rate limit exceeded";
  const cause = grpc(8, reason);
  const words = unreachedWords("[::1]:7233", reason, new Error(reason, { cause }));
  expect(words).toContain(`Temporal at [::1]:7233 is asked for more than it is set to answer (${reason}).`);
  expect(words).not.toContain("TEMPORAL_ADDRESS");
});
