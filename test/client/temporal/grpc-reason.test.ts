import { expect, test } from "vitest";
import { grpc } from "../../fakes/grpc-error.js";
import { grpcReason } from "../../../src/client/temporal/grpc-reason.js";

test.each([
  ["Failed to connect (2026-11-28T18:23:00.000Z)", "the connection was closed without an answer"],
  [
    "No connection established. Last error: Failed to connect (2026-11-28T18:23:00.000Z). Resolution note: ",
    "the connection was closed without an answer",
  ],
  [
    "No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:7233. Resolution note: ",
    "connect ECONNREFUSED 127.0.0.1:7233",
  ],
  [
    "No connection established. Last error: read ECONNRESET (2026-11-29T22:45:29.808Z). Resolution note: ",
    "read ECONNRESET",
  ],
  ["Request unauthorized.", "Request unauthorized."],
  [
    "No connection established. Last error: Error [ERR_TLS_CERT_ALTNAME_INVALID]: Hostname/IP does not match certificate's altnames: Host: temporal. is not in the cert's altnames: DNS:elsewhere. Resolution note: ",
    "Hostname/IP does not match certificate's altnames: Host: temporal. is not in the cert's altnames: DNS:elsewhere",
  ],
  [
    "No connection established. Last error: 805C6CBF9E7F0000:error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required:../deps/openssl/openssl/ssl/record/rec_layer_s3.c:1601:SSL alert number 116\n (2026-11-29T18:35:39.955Z). Resolution note: ",
    "tlsv13 alert certificate required",
  ],
  [
    "No connection established. Last error: Error: 807C25760C7F0000:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../deps/openssl/openssl/ssl/record/ssl3_record.c:350:\n. Resolution note: ",
    "no TLS is spoken there",
  ],
  [
    "Deadline exceeded after 4.001s,name resolution: 0.001s,LB pick: 0.001s,remote_addr=127.0.0.1:7233",
    "Deadline exceeded",
  ],
  ["", "nothing more is said"],
])("what gRPC says is told without its own words: %s", (details, reason) => {
  expect(grpcReason(grpc(14, details))).toBe(reason);
});
