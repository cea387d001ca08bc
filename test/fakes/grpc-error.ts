const NAMES = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
];

/** An error as the gRPC of a program's connection throws it; a worker's own has another form, and is asked itself where it matters. */
export function grpc(code: number, details: string): Error {
  return Object.assign(new Error(`${code} ${NAMES[code] ?? ""}: ${details}`), {
    code,
    details,
    metadata: {},
  });
}
