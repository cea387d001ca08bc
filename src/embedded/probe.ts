import { connect } from "node:http2";

const DESCRIBE_NAMESPACE = "/temporal.api.workflowservice.v1.WorkflowService/DescribeNamespace";
const PROBE_TIMEOUT_MS = 2_000;

/**
 * Whether a Temporal server answers at this address and has the namespace. It asks by one gRPC call over
 * plain HTTP/2: the Web UI's port says nothing (it answers a second after the server), and a CLI process per
 * question would cost more than the start itself.
 */
export function answersAsTemporal(address: string, namespace: string): Promise<boolean> {
  return new Promise((resolve) => {
    const session = connect(`http://${address}`);
    const timer = setTimeout(() => settle(false), PROBE_TIMEOUT_MS);
    const settle = (answers: boolean) => {
      clearTimeout(timer);
      session.destroy();
      resolve(answers);
    };
    session.on("error", () => settle(false));
    const request = session.request({
      ":method": "POST",
      ":path": DESCRIBE_NAMESPACE,
      "content-type": "application/grpc",
      te: "trailers",
    });
    request.on("error", () => settle(false));
    request.once("trailers", (trailers) => settle(trailers["grpc-status"] === "0"));
    request.once("close", () => settle(false)); // a refusal comes without trailers of its own
    request.resume();
    request.end(grpcFrame(stringField(1, namespace)));
  });
}

/** A protobuf field of type string, for texts under 128 bytes. */
function stringField(field: number, text: string): Buffer {
  const bytes = Buffer.from(text, "utf8");
  return Buffer.concat([Buffer.from([(field << 3) | 2, bytes.length]), bytes]);
}

function grpcFrame(message: Buffer): Buffer {
  const header = Buffer.alloc(5); // not compressed, then the length
  header.writeUInt32BE(message.length, 1);
  return Buffer.concat([header, message]);
}
