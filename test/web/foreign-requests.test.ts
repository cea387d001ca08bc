import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { authoritiesOf, refusalOf } from "../../src/web/foreign-requests.js";

/** Whether a browser is let in that was led to this address, from its own page. */
function isLetIn(address: string, port: number): boolean {
  const { host, origin } = new URL(address);
  const headersDistinct = { host: [host], origin: [origin] };
  const request = { method: "POST", url: "/", headersDistinct } as unknown as IncomingMessage; // what is looked at
  const announced = { name: "the page", authorities: authoritiesOf("127.0.0.1", port), isPage: () => true };
  return refusalOf(request, announced) === null;
}

test("browsers say no port where it is HTTP's own: what is served there answers to the name alone", () => {
  for (const name of ["127.0.0.1", "localhost", "LocalHost"]) {
    expect(isLetIn(`http://${name}:80/`, 80)).toBe(true);
    expect(isLetIn(`http://${name}:8234/`, 8234)).toBe(true);
    expect(isLetIn(`http://${name}:80/`, 8234)).toBe(false);
    expect(isLetIn(`http://${name}:8234/`, 80)).toBe(false);
  }
  expect(isLetIn("http://evil.test:80/", 80)).toBe(false);
});
