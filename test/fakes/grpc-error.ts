/** An error as gRPC throws it. */
export function grpc(code: number, details: string): Error {
  return Object.assign(new Error(`${code} X: ${details}`), { code, details, metadata: {} });
}
