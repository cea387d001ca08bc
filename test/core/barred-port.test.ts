import { expect, test } from "vitest";
import { barredPort } from "../../src/core/barred-port.js";

test.each(["http://h:6000/v1", "https://h:25", "http://[::1]:6667/", "http://h:0", "http://h:010080"])(
  "%s is barred",
  (url) => {
    expect(barredPort(new URL(url))).toMatch(/names port \d+, which .* choose another port/);
  },
);

test.each(["http://h", "https://h:443", "http://h:80", "http://h:11434/v1", "http://h:6001"])(
  "%s is not",
  (url) => {
    expect(barredPort(new URL(url))).toBeUndefined();
  },
);

test("they are those of fetch", async () => {
  const barred = [...Array(65_536).keys()].filter(
    (port) => barredPort(new URL(`http://h:${port}`)) !== undefined,
  );
  const said = await Promise.all(
    barred.map((port) =>
      fetch(`http://127.0.0.1:${port}`).then(
        () => "answered",
        (error: unknown) => String(error instanceof Error ? error.cause : ""),
      ),
    ),
  );
  // Port 0 is none.
  expect(said.slice(1).every((reason) => reason.includes("bad port"))).toBe(true);
  expect(barred).toHaveLength(83);
});
