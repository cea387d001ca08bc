/** Of a text that is to stand in a header, as the end of a sentence. The text itself is never repeated: it may be a secret. */
export const NO_HEADER_VALUE =
  "holds characters that no header can carry, such as a line break or a typographic quote";

/** Whether a text can be the name of a header of HTTP. */
export function isHeaderName(text: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text);
}

/** What each request says of itself, or a session of MCP does. */
const OF_THE_PROTOCOL =
  /^(?:accept(?:-.*)?|connection|content-.*|expect|host|keep-alive|last-event-id|mcp-(?:method|name|param-.*|protocol-version|session-id)|te|trailer|transfer-encoding|upgrade)$/i;

/** Why a header of that name cannot be set, as the end of a sentence. */
export function headerNameProblem(name: string): string | undefined {
  if (!isHeaderName(name)) return "must be the name of a header";
  return OF_THE_PROTOCOL.test(name)
    ? "must be another header: each request says what belongs in this one"
    : undefined;
}

/** Whether a header of HTTP can carry a text, as Node sees it. */
export function isHeaderValue(text: string): boolean {
  // eslint-disable-next-line no-control-regex -- what Node lets into a header
  return !/[^\t\x20-\x7e\x80-\xff]/.test(text);
}

/** Whether what gRPC calls metadata can carry a text. */
export function isMetadataValue(text: string): boolean {
  return !/[^\x20-\x7e]/.test(text);
}
