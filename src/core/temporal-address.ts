const MAX_PORT = 65_535;
const FORM = "must be a host and a port, such as 127.0.0.1:7233 or [::1]:7233";

/** What is wrong with the address of a Temporal server, as the end of a sentence that begins with it; undefined where it can be asked. */
export function addressProblem(address: string): string | undefined {
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(address)) return `${FORM}, with nothing such as http:// before it`;
  if (/^[\da-f.]*(?::[\da-f.]*){2,}$/i.test(address)) return `${FORM}: an IPv6 address stands in brackets`;
  const parts = /^(?:\[[\da-f]*:[\da-f:.]*\]|[^\s:/@,[\]]+)(?::(?<port>.*))?$/is.exec(address);
  if (parts === null) return FORM;
  const port = parts.groups?.["port"];
  if (port === undefined || (/^\d+$/.test(port) && Number(port) >= 1 && Number(port) <= MAX_PORT))
    return undefined;
  return `${FORM}: its port must be a number from 1 to ${MAX_PORT}`;
}
