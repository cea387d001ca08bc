import type { IncomingMessage } from "node:http";

/** All of a request's body; rejects with `tooLarge` beyond its bound. Who sends too much can be told so: the connection is not cut. */
export async function bodyWithin(
  request: IncomingMessage,
  maxBytes: number,
  tooLarge: Error,
): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const piece = chunk as Buffer; // no encoding is set
    bytes += piece.length;
    if (bytes > maxBytes) throw tooLarge;
    chunks.push(piece);
  }
  return Buffer.concat(chunks);
}
