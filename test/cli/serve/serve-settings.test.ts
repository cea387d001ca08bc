import { describe, expect, test } from "vitest";
import { serveSettings } from "../../../src/cli/serve/serve-log.js";
import { ConfigError, loadConfig } from "../../../src/config.js";

const config = loadConfig({ HOME: "/nowhere", INTERLOCK_STORE: "/nowhere/store", INTERLOCK_HEALTH: "9100" });

describe("the options of a worker in the foreground", () => {
  test("take the place of variables", () => {
    const settings = serveSettings(config, { metrics: "[::1]:9464", logLevel: "warn", quiet: true });
    expect(settings).toEqual({
      quiet: true,
      metrics: { host: "::1", port: 9464 },
      health: { host: "127.0.0.1", port: 9100 },
      logFormat: "text",
      logLevel: "warn",
    });
  });

  test.each([
    [{ logLevel: "loud" }, '--log-level: "loud" is not one of trace, debug, info, warn, error.'],
    [{ logFormat: "" }, '--log-format: "" is not one of text, json.'],
    [
      { health: "99999" },
      '--health: "99999" must be a port, or an IP address and a port, as 127.0.0.1:9464.',
    ],
    [
      { metrics: "host:1\u001B[2J" },
      `--metrics: "host:1 [2J" must be a port, or an IP address and a port, as 127.0.0.1:9464.`,
    ],
  ])("are refused with what they are and may be: %o", (options, sentence) => {
    expect(() => serveSettings(config, options)).toThrow(new ConfigError(sentence));
  });
});
