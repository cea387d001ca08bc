/** What a code of the system's or of TLS means to somebody who has configured an address. */
export function wordsOfConnection(code: string): string {
  if (code === "ERR_PROXY_TUNNEL") {
    return "cannot be reached: the environment's proxy lets nothing through to it";
  }
  if (code.startsWith("ERR_PROXY_")) {
    return `cannot be reached: the environment's proxy ${wordsOfConnection(code.slice("ERR_PROXY_".length))}`;
  }
  if (code === "ECONNREFUSED") return "cannot be reached: nothing listens there";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "cannot be reached: its name is not known";
  if (/TIMEOUT|TIMEDOUT|UNREACH|ENETDOWN|EHOSTDOWN/.test(code)) {
    return "cannot be reached: nothing comes back from there";
  }
  if (code.includes("ALTNAME")) return "cannot be reached: its certificate is for another name";
  if (/EXPIRED|NOT_YET_VALID/.test(code)) {
    return "cannot be reached: its certificate has expired, or is not valid yet by this machine's clock";
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO|DEPTH_/.test(code)) {
    return "cannot be reached: its certificate is not accepted (NODE_EXTRA_CA_CERTS names authorities to trust)";
  }
  if (/^(?:EPROTO|ERR_SSL|ERR_TLS)/.test(code)) {
    return "cannot be reached: no TLS is agreed on. Is it http:// that is spoken there?";
  }
  if (code.startsWith("HPE_")) return "answered with what is no HTTP";
  if (/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET|ECONNABORTED)$/.test(code)) return "broke the connection";
  return "cannot be reached or broke the connection";
}
