import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { chmod, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ConfigError, INTERLOCK_VARIABLES, loadConfig, unknownVariables } from "../src/config.js";
import { tokenProblem } from "../src/mcp/server-settings.js";
import { SETTINGS_KEYS } from "../src/settings-file.js";
import { DEFAULT_PROTECTED_PATHS } from "../src/core/tools/name-rules.js";
import { temporaryDirectory } from "./fakes/package-fixture.js";
import { withoutRights } from "./fakes/unprivileged.js";

const UTF_16 = "is UTF-16 text, as some editors and shells of Windows save it: save it as UTF-8";
const OTHER_ENCODING = "is not UTF-8 text: save it in that encoding";

let dir: string;
beforeEach(async () => {
  dir = await temporaryDirectory();
  await mkdir(join(dir, "store"));
});

/** Variables of a test, with a store of its own and no configuration of Temporal. */
const load = (variables: Record<string, string | undefined> = {}) =>
  loadConfig({
    INTERLOCK_STORE: join(dir, "store"),
    TEMPORAL_CONFIG_FILE: join(dir, "none.toml"),
    ...variables,
  });
const settings = (value: unknown) =>
  writeFile(join(dir, "store", "settings.json"), typeof value === "string" ? value : JSON.stringify(value));

function refusal(variables: Record<string, string> = {}): string {
  try {
    load(variables);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error("nothing was refused");
}

test("without a home directory the store has to be named; a relative one is none, and would be another in each directory", () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  for (const name of ["HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"]) vi.stubEnv(name, "here");
  expect(refusal({ INTERLOCK_STORE: "" })).toContain("Say with INTERLOCK_STORE where the store is.");
  expect(load().cacheDir).toBe(join(dir, "store", "cache"));
});

test.runIf(process.platform === "linux")(
  "the directories of the system are those of the variables that are given",
  () => {
    const config = loadConfig({ XDG_DATA_HOME: "/srv/data", XDG_CACHE_HOME: "/srv/cache" });
    expect([config.storeDir, config.cacheDir]).toEqual(["/srv/data/interlock/store", "/srv/cache/interlock"]);
  },
);

test.each(["/", "//", "/tmp/.."])(
  "the root of the file system, as %s, is no store: every project would lie in it",
  (root) => {
    expect(refusal({ INTERLOCK_STORE: root })).toContain(
      "INTERLOCK_STORE: / is the root of the file system. Name a folder of the store's own.",
    );
  },
);

describe("the variables", () => {
  test("and the keys of the settings file each stand in docs/settings.md", () => {
    const page = readFileSync(new URL("../docs/settings.md", import.meta.url), "utf8");
    const rows = [...page.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, names = ""]) =>
      [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
    );
    for (const name of [...INTERLOCK_VARIABLES, ...SETTINGS_KEYS]) expect(rows).toContain(name);
  });

  test("that begin as ours and mean nothing are named", () => {
    expect(unknownVariables({ INTERLOCK_MODLE: "x", INTERLOCK_MODEL: "x", INTERLOCK_EMPTY: "" })).toEqual([
      "INTERLOCK_MODLE",
    ]);
  });

  test("are these", () => {
    expect(INTERLOCK_VARIABLES).toEqual(
      expect.arrayContaining([
        "INTERLOCK_STORE",
        "INTERLOCK_CACHE",
        "INTERLOCK_TASK_QUEUE",
        "INTERLOCK_TEMPORAL_CLI",
        "INTERLOCK_SETTINGS",
        "INTERLOCK_MODEL",
        "INTERLOCK_MODEL_STREAM",
        "INTERLOCK_MODEL_TIMEOUT_SECONDS",
        "INTERLOCK_WEB_UI",
        "INTERLOCK_STARTS",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
      ]),
    );
  });

  test("whose starts are taken is the variable's to say, then the settings file's, and nothing else is a word for it", async () => {
    expect(load().starts).toBe("open");
    await settings({ starts: "signed" });
    expect(load().starts).toBe("signed");
    expect(load({ INTERLOCK_STARTS: "" }).starts).toBe("signed");
    expect(load({ INTERLOCK_STARTS: "open" }).starts).toBe("open");
    expect(refusal({ INTERLOCK_STARTS: "Signed" })).toContain("INTERLOCK_STARTS");
    await settings({ starts: true });
    expect(refusal()).toContain("starts");
  });

  test("have defaults", async () => {
    await writeFile(join(dir, "empty.json"), "{}");
    const config = loadConfig({
      TEMPORAL_CONFIG_FILE: join(dir, "none.toml"),
      INTERLOCK_SETTINGS: join(dir, "empty.json"),
    });
    expect([isAbsolute(config.storeDir), isAbsolute(config.cacheDir), config.taskQueue]).toEqual([
      true,
      true,
      "interlock",
    ]);
    expect([config.temporal, config.temporalCli, config.webUi]).toEqual([undefined, undefined, undefined]);
    expect(config.pathVariable).toBe("/usr/local/bin:/usr/bin:/bin");
    expect(config.modelSettingsFor("author")).toBeUndefined();
  });

  test("that are empty count as unset", () => {
    const config = load({
      INTERLOCK_TASK_QUEUE: "",
      INTERLOCK_MODEL_STREAM: "",
      OPENAI_BASE_URL: "",
      INTERLOCK_WEB_UI: "",
    });
    expect([config.taskQueue, config.webUi]).toEqual(["interlock", undefined]);
  });

  test("move the store; a relative place is taken from here, once", () => {
    expect(load({ INTERLOCK_STORE: "some/store" }).storeDir).toBe(join(process.cwd(), "some/store"));
    expect(load().storeDir).toBe(join(dir, "store"));
  });

  test.each([
    ["INTERLOCK_MODEL_STREAM", "maybe"],
    ["INTERLOCK_MODEL_TIMEOUT_SECONDS", "0"],
    ["INTERLOCK_MODEL_TIMEOUT_SECONDS", "-1"],
    ["INTERLOCK_MODEL_TIMEOUT_SECONDS", "1.5"],
    ["INTERLOCK_MODEL_TIMEOUT_SECONDS", "1e3"],
    ["INTERLOCK_WEB_UI", "not a url"],
    ["INTERLOCK_WEB_UI", "https://ada:secret@temporal.example/"],
    ["INTERLOCK_WEB_UI", "https://temporal.example/?token=secret"],
    ["INTERLOCK_WEB_UI", "https://temporal.example/#/namespaces"],
    ["OPENAI_BASE_URL", "ftp://host/v1"],
    ["OPENAI_BASE_URL", "host:8080"],
    ["OPENAI_BASE_URL", "/v1"],
  ])("%s=%s is refused by its name, with a remedy", (name, value) => {
    const sentence = refusal({ [name]: value });
    expect(sentence).toMatch(new RegExp(`^${name}: .*Correct or unset this variable\\.$`, "u"));
  });

  test.each([
    ["INTERLOCK_LOG_LEVEL", "loud", '"loud" is not one of trace, debug, info, warn, error'],
    ["INTERLOCK_LOG_FORMAT", "JSON", '"JSON" is not one of text, json'],
    ["INTERLOCK_STARTS", "close\nd", `"close\\nd" is not one of open, signed`],
    ["INTERLOCK_STARTS", "signed ", `"signed " is not one of open, signed`],
    ["INTERLOCK_LOG_FORMAT", "json\r", `"json\\r" is not one of text, json`],
    ["INTERLOCK_HEALTH", "here", '"here" must be a port, or an IP address and a port, as 127.0.0.1:9464'],
    [
      "INTERLOCK_METRICS",
      "localhost:1",
      '"localhost:1" must be a port, or an IP address and a port, as 127.0.0.1:9464',
    ],
  ])("%s=%s is refused with what it may be", (name, value, why) => {
    expect(refusal({ [name]: value })).toBe(`${name}: ${why}. Correct or unset this variable.`);
  });

  test("a refusal repeats no value that may be a secret", () => {
    expect(refusal({ OPENAI_BASE_URL: "sk-abcdefghijklmnop" })).not.toContain("sk-abc");
    expect(
      refusal({ INTERLOCK_MODEL_STREAM: "sk-abcdefghijklmnop", OPENAI_API_KEY: "sk-secret" }),
    ).not.toContain("sk-");
  });

  test.each([
    [
      { OPENAI_BASE_URL: "https://me:hunter2@host/v1" },
      /^OPENAI_BASE_URL: must hold no user name and no password/u,
    ],
    [
      { OPENAI_BASE_URL: "https://hunter2@host/v1" },
      /^OPENAI_BASE_URL: must hold no user name and no password/u,
    ],
    [
      { OPENAI_BASE_URL: "https://:hunter2@host/v1" },
      /^OPENAI_BASE_URL: must hold no user name and no password/u,
    ],
  ])("a name or a password in the address of a model is refused: %j", (variables, sentence) => {
    expect(refusal(variables)).toMatch(sentence);
    expect(refusal(variables)).not.toContain("hunter2");
  });

  test.each([
    ["9464", { host: "127.0.0.1", port: 9464 }],
    ["0.0.0.0:80", { host: "0.0.0.0", port: 80 }],
    ["[::1]:80", { host: "::1", port: 80 }],
  ])("%s is where metrics and health are served", (text, address) => {
    expect(load({ INTERLOCK_METRICS: text, INTERLOCK_HEALTH: text })).toMatchObject({
      metrics: address,
      health: address,
    });
  });

  // A port that the system chooses is one that nobody is told of.
  test.each([
    "localhost:80",
    "80.",
    "0",
    "127.0.0.1:0",
    "65536",
    "1.2.3:80",
    "::1:80",
    "http://127.0.0.1:80",
    "-1",
    "127.0.0.1",
  ])("%s is no address to listen at", (text) => {
    expect(refusal({ INTERLOCK_METRICS: text })).toMatch(
      /^INTERLOCK_METRICS: ".*" must be a port, or an IP address/u,
    );
  });

  test.each([
    [{}, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://x:4318" }, { captureContent: false }],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://x:4318/v1/traces" }, { captureContent: false }],
    [{ OTEL_TRACES_EXPORTER: "otlp" }, { captureContent: false }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://x", OTEL_SDK_DISABLED: "TRUE" }, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://x", OTEL_TRACES_EXPORTER: "none" }, undefined],
    [{ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" }, undefined],
    [
      { OTEL_TRACES_EXPORTER: "otlp", OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" },
      { captureContent: true },
    ],
  ])("of OpenTelemetry turn traces on, and contents apart: %j", (variables, traces) => {
    expect(load(variables as Record<string, string>).traces).toEqual(traces);
  });

  test("of Temporal are read as its own tools read them", () => {
    const { temporal } = load({ TEMPORAL_ADDRESS: "127.0.0.1:7233", TEMPORAL_NAMESPACE: "n" });
    expect(temporal?.connectionOptions.address).toBe("127.0.0.1:7233");
    expect(temporal?.namespace).toBe("n");
  });

  test.each([
    [
      "[[[",
      /^Temporal's configuration cannot be used: Invalid TOML document: .*\. Correct it, or what TEMPORAL_CONFIG_FILE/u,
    ],
    ["", /cannot be used: its file has no profile\. Add one, \[profile\.default\]/u],
    ["[profile.default]\naddress = 7233\n", /: address must be a text in quotes\. Correct it/u],
    ['[profile.default]\naddress = "a:1"\napi_key = 5\n', /: api_key must be a text in quotes/u],
    ['[profile.default]\naddress = "a:99999"\n', /^Temporal's configuration: address .*its port must be/u],
  ])("a configuration of Temporal that cannot be used is told: %j", async (content, sentence) => {
    await writeFile(join(dir, "broken.toml"), content);
    const said = refusal({ TEMPORAL_CONFIG_FILE: join(dir, "broken.toml") });
    expect(said).toMatch(sentence);
    expect(said).not.toContain("\n");
  });

  test.each([
    "host:99999",
    "host:0",
    "host:",
    "host:abc",
    "http://host:7233",
    "::1:7233",
    "me:sk-secret@host",
  ])("an address of Temporal's that nothing can be at is refused at once: %s", (address) => {
    const said = refusal({ TEMPORAL_ADDRESS: address });
    expect(said).toMatch(/^TEMPORAL_ADDRESS must be a host and a port, such as 127\.0\.0\.1:7233/u);
    expect(said).toContain("Correct it; without one, the embedded server is used.");
    expect(said).not.toContain("sk-secret");
  });

  test.each([
    ["TRUE", true],
    ["t", true],
    ["1", true],
    ["False", false],
    ["0", false],
  ])("TLS is on or off by the words of Temporal's own tools: %s", (word, on) => {
    const { temporal } = load({ TEMPORAL_ADDRESS: "a:1", TEMPORAL_API_KEY: "k", TEMPORAL_TLS: word });
    expect(Boolean(temporal?.connectionOptions.tls)).toBe(on);
  });

  test.each(["yes", "on", "ture", " true"])(
    "a word that would turn TLS off unsaid is refused: %j",
    (word) => {
      const said = refusal({ TEMPORAL_ADDRESS: "a:1", TEMPORAL_API_KEY: "k", TEMPORAL_TLS: word });
      expect(said).toBe("TEMPORAL_TLS must be true or false. Correct it.");
    },
  );

  test("certificates that no connection could be made with are told by their variables", async () => {
    const file = join(dir, "garbage.pem");
    await writeFile(file, "sk-secret");
    const at = { TEMPORAL_ADDRESS: "a:1" };
    const [cert, key] = [{ TEMPORAL_TLS_CLIENT_CERT_PATH: file }, { TEMPORAL_TLS_CLIENT_KEY_PATH: file }];
    expect(refusal({ ...at, ...cert })).toContain(
      "its key is missing. Name it by TEMPORAL_TLS_CLIENT_KEY_PATH,",
    );
    expect(refusal({ ...at, ...key })).toContain("Name it by TEMPORAL_TLS_CLIENT_CERT_PATH, or in");
    for (const broken of [{ ...cert, ...key }, { TEMPORAL_TLS_SERVER_CA_CERT_PATH: file }]) {
      const said = refusal({ ...at, ...broken });
      expect(said).toMatch(/^What TEMPORAL_TLS_SERVER_CA_CERT_PATH, .* cannot be used: .*They take PEM/);
      expect(said).not.toContain("sk-secret");
    }
    expect(load({ ...at, ...cert, TEMPORAL_TLS: "false" }).temporal).toBeDefined();
  });

  test("the files of clients' keys that variables name are shown to no run", () => {
    const files = {
      TEMPORAL_TLS_CLIENT_KEY_PATH: join(dir, "temporal"),
      OTEL_EXPORTER_OTLP_CLIENT_KEY: join(dir, "collector"),
      OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: join(dir, "traces"),
    };
    const { roots, secretFiles } = load({ ...files, TEMPORAL_TLS: "false" });
    expect(roots.privatePaths).toEqual(expect.arrayContaining(Object.values(files)));
    expect(secretFiles.map(({ variable }) => variable)).toEqual(Object.keys(files));
  });

  test.each(["SERVER_CA_CERT", "CLIENT_CERT", "CLIENT_KEY"])(
    "a file of %s that cannot be read is told by its variable: who gives the key in its place does not read it again",
    (name) => {
      const variable = `TEMPORAL_TLS_${name}_PATH`;
      const said = refusal({ TEMPORAL_ADDRESS: "a:1", [variable]: "sk-secret\nof two lines" });
      expect(said).toBe(`${variable} names a file that cannot be read (ENOENT). Correct it or unset it.`);
      // What Docker makes in the place of a file that is mounted and not there.
      const folder = refusal({ TEMPORAL_ADDRESS: "a:1", [variable]: dir });
      expect(folder).toBe(`${variable} names a file that cannot be read (EISDIR). Correct it or unset it.`);
    },
  );

  test.each([
    [{ TEMPORAL_API_KEY: "sk-secret\nx" }, "TEMPORAL_API_KEY holds"],
    [{ TEMPORAL_API_KEY: "sk-secret’" }, "TEMPORAL_API_KEY holds"],
    [{ TEMPORAL_GRPC_META_X_TOKEN: "sk-secret\nx" }, "TEMPORAL_GRPC_META_X_TOKEN holds"],
    [{}, "Temporal's configuration: api_key holds"],
  ])(
    "a key for Temporal that no header can carry is told by its place, and not repeated: %j",
    async (given, place) => {
      const path = join(dir, "key.toml");
      await writeFile(path, '[profile.default]\napi_key = "sk-secret\\n"\n');
      const file =
        "TEMPORAL_API_KEY" in given || "TEMPORAL_GRPC_META_X_TOKEN" in given
          ? {}
          : { TEMPORAL_CONFIG_FILE: path };
      const said = refusal({ TEMPORAL_ADDRESS: "127.0.0.1:7233", ...given, ...file });
      expect(said).toContain(`${place} characters that no header can carry`);
      expect(said).not.toContain("sk-secret");
    },
  );

  test("are read once: the configuration cannot be changed", () => {
    expect(Object.isFrozen(load())).toBe(true);
  });
});

describe("the model of an agent", () => {
  test("comes from the variables", () => {
    const config = load({
      INTERLOCK_MODEL: "m",
      OPENAI_API_KEY: "k",
      OPENAI_BASE_URL: "http://127.0.0.1:1/v1",
      INTERLOCK_MODEL_STREAM: "1",
      INTERLOCK_MODEL_TIMEOUT_SECONDS: "30",
    });
    expect(config.modelSettingsFor("anybody")).toEqual({
      model: "m",
      baseUrl: "http://127.0.0.1:1/v1",
      apiKey: "k",
      stream: true,
      timeoutMs: 30_000,
    });
  });

  test("needs a name, and a key or an endpoint", () => {
    expect(load({ OPENAI_API_KEY: "k" }).modelSettingsFor("a")).toBeUndefined();
    expect(load({ INTERLOCK_MODEL: "m" }).modelSettingsFor("a")).toBeUndefined();
    expect(load({ INTERLOCK_MODEL: "m", OPENAI_API_KEY: "k" }).modelSettingsFor("a")).toEqual({
      model: "m",
      apiKey: "k",
      stream: false,
      timeoutMs: 540_000,
    });
    expect(load({ INTERLOCK_MODEL: "m", OPENAI_BASE_URL: "http://h/v1" }).modelSettingsFor("a")).toEqual({
      model: "m",
      baseUrl: "http://h/v1",
      stream: false,
      timeoutMs: 540_000,
    });
  });

  test("may be its own, by its id", async () => {
    await settings({
      agents: { author: { model: "own", stream: true, timeoutSeconds: 5, temperature: 0, maxTokens: 9 } },
    });
    const config = load({ INTERLOCK_MODEL: "m", OPENAI_API_KEY: "k" });
    expect(config.modelSettingsFor("author")).toEqual({
      model: "own",
      apiKey: "k",
      stream: true,
      timeoutMs: 5_000,
      temperature: 0,
      maxTokens: 9,
    });
    expect(config.modelSettingsFor("Author")).toMatchObject({ model: "m" });
  });

  test.each(["constructor", "toString", "__proto__", "hasOwnProperty"])(
    "is nobody's for an agent called %s",
    (agentId) => {
      expect(load({ INTERLOCK_MODEL: "m", OPENAI_API_KEY: "k" }).modelSettingsFor(agentId)).toEqual({
        model: "m",
        apiKey: "k",
        stream: false,
        timeoutMs: 540_000,
      });
    },
  );
});

describe("the dialect of an agent's endpoint", () => {
  const variables = {
    INTERLOCK_MODEL: "m",
    OPENAI_API_KEY: "k",
    OPENAI_BASE_URL: "http://common.example/v1",
  };

  test("is the common one, unless the agent has an endpoint or a dialect of its own", async () => {
    await settings({
      dialect: "vllm",
      agents: {
        elsewhere: { baseUrl: "http://own.example/v1" },
        other: { dialect: { name: "mistral", streamOptions: true } },
      },
    });
    const { modelSettingsFor } = load(variables);
    expect(modelSettingsFor("anybody")).toMatchObject({ dialect: "vllm" });
    expect(modelSettingsFor("elsewhere")).not.toHaveProperty("dialect");
    expect(modelSettingsFor("other")).toMatchObject({ dialect: { name: "mistral", streamOptions: true } });
  });

  test.each([{ dialect: "closedai" }, { dialect: { tokenLimit: "tokens" } }, { dialect: { unknown: true } }])(
    "is refused where it is none: %j",
    async (wrong) => {
      await settings(wrong);
      expect(refusal(variables)).toMatch(/is not valid at dialect/u);
    },
  );
});

test.each(["model", "messages", "tools", "stream", "n", "temperature", "max_tokens"])(
  "a parameter of requests that the engine sets itself is refused: %s",
  async (name) => {
    await settings({ models: { fast: { model: "m", parameters: { top_p: 0.5, [name]: 1 } } } });
    expect(refusal({ INTERLOCK_MODEL: "m" })).toContain(
      `models.fast.parameters.${name}: is what Interlock sets itself: leave it out`,
    );
  },
);

describe("the length of a context", () => {
  const variables = { INTERLOCK_MODEL: "m", OPENAI_API_KEY: "k" };
  const lengthFor = (agentId: string) => load(variables).modelSettingsFor(agentId)?.contextTokens;

  test("is the agent's, else the common one for who has neither a model nor an endpoint of their own", async () => {
    await settings({
      contextTokens: 32_768,
      agents: {
        own: { model: "own", contextTokens: 8_192 },
        other: { model: "other" },
        elsewhere: { baseUrl: "http://own.example/v1" },
        warm: { temperature: 1 },
      },
    });
    expect(["nobody", "own", "other", "elsewhere", "warm"].map(lengthFor)).toEqual([
      32_768,
      8_192,
      undefined,
      undefined,
      32_768,
    ]);
  });

  test.each([1_023, 0, -1, 8_192.5, "8192"])(
    "is refused where it cannot be one: %j",
    async (contextTokens) => {
      await settings({ contextTokens });
      expect(refusal(variables)).toMatch(/is not valid at contextTokens/u);
    },
  );
});

test("prompt tokens from a provider's cache may have a price of their own", async () => {
  const price = { inputPerMillion: 2, outputPerMillion: 8, cachedInputPerMillion: 0.5 };
  await settings({ prices: { m: price } });
  const { modelSettingsFor } = load({ INTERLOCK_MODEL: "m", OPENAI_API_KEY: "k" });
  expect(modelSettingsFor("a")?.price).toEqual(price);
});

describe("a key goes only to the endpoint it was given for", () => {
  const own = "http://own.example/v1";

  test("an agent's own endpoint does not get the common key", async () => {
    await settings({ agents: { author: { baseUrl: own } } });
    const config = load({
      INTERLOCK_MODEL: "m",
      OPENAI_API_KEY: "common",
      OPENAI_BASE_URL: "http://common.example/v1",
    });
    expect(config.modelSettingsFor("author")).toEqual({
      model: "m",
      baseUrl: own,
      stream: false,
      timeoutMs: 540_000,
    });
    expect(config.modelSettingsFor("other")).toMatchObject({
      baseUrl: "http://common.example/v1",
      apiKey: "common",
    });
  });

  test("it gets its own key, by the name of its variable", async () => {
    await settings({ agents: { author: { baseUrl: own, apiKeyVariable: "OWN_KEY" } } });
    expect(
      load({ INTERLOCK_MODEL: "m", OPENAI_API_KEY: "common", OWN_KEY: "own" }).modelSettingsFor("author"),
    ).toMatchObject({ baseUrl: own, apiKey: "own" });
    expect(
      load({ INTERLOCK_MODEL: "m", OPENAI_API_KEY: "common" }).modelSettingsFor("author"),
    ).not.toHaveProperty("apiKey");
    expect(
      load({ INTERLOCK_MODEL: "m", OPENAI_API_KEY: "common", OWN_KEY: "" }).modelSettingsFor("author"),
    ).not.toHaveProperty("apiKey");
  });

  test.each(["constructor", "toString", "__proto__"])(
    "a variable called %s, which is none, gives none",
    async (apiKeyVariable) => {
      await settings({ agents: { author: { baseUrl: own, apiKeyVariable } } });
      expect(load({ INTERLOCK_MODEL: "m" }).modelSettingsFor("author")).not.toHaveProperty("apiKey");
    },
  );
});

describe("a key in the place of its variable's name", () => {
  const url = "https://own.example/v1";
  const places = (name: string): readonly object[] => [
    { models: { fast: { model: "m", baseUrl: url, apiKeyVariable: name } } },
    { agents: { author: { baseUrl: url, apiKeyVariable: name } } },
    { notifications: { webhooks: { ops: { url, secretVariable: name } } } },
    { notifications: { webhooks: { team: { urlVariable: name, format: "slack" } } } },
    { mcpServers: { tools: { url, bearerVariable: name } } },
  ];

  test.each([
    "sk-proj-0123456789abcdefABCDEF",
    "ghp_0123456789abcdefABCDEF",
    "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0",
    "gsk_0123456789abcdefABCDEF012345",
    "hf_0123456789abcdefABCDEF",
    "https://hooks.slack.com/services/T0/B0/0123456789abcdef",
  ])("is refused, and not repeated: %s", async (key) => {
    for (const place of places(key)) {
      await settings(place);
      const said = refusal();
      expect(said).toContain("must be the name of an environment variable");
      expect(said).not.toContain(key);
    }
  });

  test.each(["OPENAI_API_KEY", "GH_TOKEN_2", "npm_registry_token", "key2"])("%s is a name", async (name) => {
    for (const place of places(name)) {
      await settings(place);
      expect(() => load()).not.toThrow();
    }
  });
});

describe("a secret may stand in a file", () => {
  const held = async (text: string): Promise<string> => {
    const path = join(dir, "secret");
    await writeFile(path, text);
    return path;
  };

  test("the common key, Temporal's, and that of each model", async () => {
    const path = await held("sk-in-a-file\n");
    const endpoint = { baseUrl: "https://other.example/v1", apiKeyVariable: "OTHER_KEY" };
    await settings({ agents: { writer: { model: "w", ...endpoint } } });
    const files = { OPENAI_API_KEY_FILE: path, OTHER_KEY_FILE: path, TEMPORAL_API_KEY_FILE: path };
    const config = load({ ...files, INTERLOCK_MODEL: "m", TEMPORAL_ADDRESS: "127.0.0.1:7233" });
    expect(config.modelSettingsFor("any")?.apiKey).toBe("sk-in-a-file");
    expect(config.modelSettingsFor("writer")?.apiKey).toBe("sk-in-a-file");
    expect(config.temporal?.connectionOptions.apiKey).toBe("sk-in-a-file");
  });

  test("and another key in it counts from the next request on", async () => {
    const path = await held("sk-of-an-hour\n");
    const config = load({ OPENAI_API_KEY_FILE: path, INTERLOCK_MODEL: "m" });
    expect(config.modelSettingsFor("any")?.apiKey).toBe("sk-of-an-hour");
    await held("sk-of-the-next\n");
    expect(config.modelSettingsFor("any")?.apiKey).toBe("sk-of-the-next");
  });

  test("and so does Temporal's, where the one before stays while its file cannot be read or shown", async () => {
    const path = await held("of-an-hour\n");
    const { temporalKey } = load({ TEMPORAL_API_KEY_FILE: path, TEMPORAL_ADDRESS: "127.0.0.1:7233" });
    expect(temporalKey?.()).toBe("of-an-hour");
    await held("of-the-next\n");
    expect(temporalKey?.()).toBe("of-the-next");
    for (const spoilt of ["", "two\nlines", "schlüssel"]) {
      await held(spoilt);
      expect(temporalKey?.()).toBe("of-the-next");
    }
    await rm(path);
    expect(temporalKey?.()).toBe("of-the-next");
    expect(load({ TEMPORAL_API_KEY: "k", TEMPORAL_ADDRESS: "127.0.0.1:7233" }).temporalKey).toBeUndefined();
  });

  test("and of a pipe, which can be read once, the one that came through it stays", async () => {
    const path = join(dir, "pipe");
    execFileSync("sh", ["-c", 'mkfifo "$0"', path]);
    const write = (key: string): void => {
      const writer = spawn("sh", ["-c", 'echo "$1" > "$0"', path, key], { stdio: "ignore" });
      onTestFinished(() => void writer.kill());
    };
    write("sk-first");
    const config = load({ OPENAI_API_KEY_FILE: path, INTERLOCK_MODEL: "m" });
    write("sk-second"); // else who reads again would wait for good
    expect(config.modelSettingsFor("any")?.apiKey).toBe("sk-first");
  });

  test("and one that cannot be read keeps no other model from being asked", async () => {
    const path = await held("sk-of-an-hour\n");
    const at = (host: string) => ({ model: "m", baseUrl: `https://${host}.example/v1` });
    await settings({
      models: { a: { ...at("a"), apiKeyVariable: "A" }, b: { ...at("b"), apiKeyVariable: "B" } },
    });
    const { models } = load({ A_FILE: path, B: "sk-b", INTERLOCK_MODEL: "a" });
    await rm(path);
    const ref = (name: string) => ({ name, model: "m", endpoint: `https://${name}.example/v1` });
    expect(models.reachRef(ref("b"), "any")).toMatchObject({ apiKey: "sk-b" });
    expect(() => models.reachRef(ref("a"), "any")).toThrow("A_FILE names a file that cannot be read");
  });

  test("the tokens of MCP servers, and no other variable that they are given", async () => {
    const path = await held("token-of-an-hour\n");
    const tickets = { url: "https://t.example/mcp", bearerVariable: "T", headerVariables: { "X-Key": "K" } };
    await settings({ mcpServers: { tickets, own: { command: "x", envVariables: ["OWN"] } } });
    const config = load({ T_FILE: path, K_FILE: path, OWN_FILE: path });
    expect(["T", "K", "OWN", "OWN_FILE"].map(config.variable)).toEqual([
      "token-of-an-hour",
      "token-of-an-hour",
      undefined,
      path,
    ]);
    expect(config.secretFiles.map(({ variable }) => variable)).toEqual(["T_FILE", "K_FILE"]);
    await rm(path);
    const { tickets: server } = config.settings.mcpServers ?? {};
    expect(server !== undefined && "url" in server && tokenProblem(server, config.variable)).toBe(
      "T_FILE names a file that cannot be read. Correct it or unset it",
    );
  });

  test("and not in the variable as well", async () => {
    const variables = { OPENAI_API_KEY_FILE: await held("sk-a"), OPENAI_API_KEY: "sk-b" };
    expect(refusal(variables)).toBe(
      "OPENAI_API_KEY and OPENAI_API_KEY_FILE are both set. Unset one of them.",
    );
  });

  test.each(["", "\n", "two\nlines", "nul\0"])(
    "on one line: %j is refused, and not repeated",
    async (text) => {
      expect(refusal({ OPENAI_API_KEY_FILE: await held(text) })).toBe(
        "The file that OPENAI_API_KEY_FILE names must hold the secret, on one line. Correct it.",
      );
    },
  );

  test("a refusal repeats no path: it may be the secret itself", () => {
    expect(refusal({ OPENAI_API_KEY_FILE: "sk-abcdefghijklmnop" })).toBe(
      "OPENAI_API_KEY_FILE names a file that cannot be read. Correct it or unset it.",
    );
  });
});

test.each([
  "sk-abcdefghijklmnop1234",
  "gsk_abcdefghij0123456789ABCD",
  "abcdefghij0123456789ABCDEFGHIJ12",
  "two words",
  "A=b",
])("%s in the place of the name of its variable is refused, and not said again", async (secret) => {
  const places = [
    { models: { a: { model: "m", apiKeyVariable: secret } } },
    { agents: { a: { apiKeyVariable: secret } } },
    { mcpServers: { a: { url: "https://x.example", bearerVariable: secret } } },
    { notifications: { webhooks: { a: { url: "https://x.example", secretVariable: secret } } } },
  ];
  for (const place of places) {
    await settings(place);
    const said = refusal();
    expect(said).toContain(
      "must be the name of an environment variable: the secret itself does not belong here",
    );
    expect(said).not.toContain(secret);
  }
});

describe("the settings file", () => {
  test("may be missing in the store", () => {
    expect(load().settings).toEqual({});
  });

  test("has defaults for what it does not say of protected paths", async () => {
    await settings({ protectedPaths: { notWritable: ["dist"] } });
    expect(load().settings.protectedPaths).toEqual({
      ...DEFAULT_PROTECTED_PATHS,
      notWritable: ["dist"],
    });
  });

  test("adds to the protected paths and relaxes them", async () => {
    const also = { alsoNotWritable: ["dist"], alsoNotAccessible: ["keys/live"], alsoAllowed: [".git"] };
    await settings({ protectedPaths: also });
    const { notWritable, notAccessible, allowed } = DEFAULT_PROTECTED_PATHS;
    expect(load().settings.protectedPaths).toEqual({
      notWritable: [...notWritable, "dist"],
      notAccessible: [...notAccessible, "keys/live"],
      allowed: [...allowed, ".git"],
    });
    expect(load().roots.protectedPaths).toEqual(load().settings.protectedPaths);
  });

  test("may name project roots, beside those of INTERLOCK_PROJECT_ROOTS", async () => {
    await settings({ projectRoots: ["/srv/projects"] });
    expect(load({ INTERLOCK_PROJECT_ROOTS: `/one${delimiter}/two/` }).roots.projectRoots).toEqual([
      "/one",
      "/two",
      "/srv/projects",
    ]);
  });

  test.each(["projects", "/", "./x"])("project roots that are %j are refused", async (root) => {
    expect(refusal({ INTERLOCK_PROJECT_ROOTS: root })).toContain("must be the absolute path");
    await settings({ projectRoots: [root] });
    expect(refusal()).toContain("must be the absolute path");
  });

  test("may be elsewhere, and then has to be there", async () => {
    const path = join(dir, "mine.json");
    expect(refusal({ INTERLOCK_SETTINGS: path })).toBe(
      `INTERLOCK_SETTINGS names ${path}, which cannot be read. Correct it or remove it.`,
    );
    await writeFile(path, '{"agents":{"a":{"model":"x"}}}');
    expect(load({ INTERLOCK_SETTINGS: path }).settings).toEqual({ agents: { a: { model: "x" } } });
  });

  test("in a store that cannot be entered says so: neither is the file to be corrected", async () => {
    await writeFile(join(dir, "file"), "");
    expect(refusal({ INTERLOCK_STORE: join(dir, "file", "store") })).toContain(
      "a file stands where a folder on its path should. INTERLOCK_STORE says where the store is.",
    );
    expect(refusal({ INTERLOCK_STORE: join(dir, "x".repeat(300)) })).toContain(
      "settings.json cannot be read (ENAMETOOLONG). INTERLOCK_STORE says where the store is.",
    );
    await mkdir(join(dir, "closed"), { mode: 0 });
    const said = await withoutRights(dir, () =>
      Promise.resolve(refusal({ INTERLOCK_STORE: join(dir, "closed") })),
    );
    expect(said).toContain("may not be read by this user: the store may be another's. INTERLOCK_STORE says");
  });

  test("that is there and cannot be read is no missing one: its protections would be lost", async () => {
    await mkdir(join(dir, "store", "settings.json"));
    expect(refusal()).toContain(`The settings file ${join(dir, "store", "settings.json")} cannot be read`);
    await chmod(join(dir, "store", "settings.json"), 0o700);
  });

  test("is not read through a link in the store, but where the operator names it", async () => {
    await writeFile(join(dir, "elsewhere.json"), JSON.stringify({ projectRoots: [] }));
    await symlink(join(dir, "elsewhere.json"), join(dir, "store", "settings.json"));
    expect(refusal()).toContain("cannot be read: it must be a file, and no link");
    expect(() => load({ INTERLOCK_SETTINGS: join(dir, "store", "settings.json") })).not.toThrow();
  });

  test.each<[string, unknown, string]>([
    ["no JSON", "{", "is not valid JSON: line 1, column 2: a key in double quotes is expected. Correct it."],
    ["nothing in it", "", "is not valid JSON: line 1, column 1: a value is expected. Correct it."],
    [
      "a key that stands there twice",
      '{\n  "models": { "a": { "model": "m" },\n    "b": { "model": "x",\n "model": "y" } }\n}',
      "is not valid at models.b.model: line 4: the key stands here twice: remove one of the two. Correct it.",
    ],
    [
      "a whole part that stands there twice",
      '{ "agents": {},\n "agents": {} }',
      "is not valid at agents: line 2: the key stands here twice: remove one of the two. Correct it.",
    ],
    [
      "a key of no one's own",
      '{ "agents": { "__proto__": {} } }',
      "is not valid at agents.__proto__: line 1: a key named __proto__ is not allowed: remove it. Correct it.",
    ],
    [
      "another value",
      [],
      "is not valid at its root: Invalid input: expected object, received array. Correct it.",
    ],
    [
      "a dialect that there is not",
      { dialect: "vLLM" },
      'is not valid at dialect: Invalid option: expected one of "plain"|"openai"|"azure"|"deepseek"|"gemini"|"mistral"|"ollama"|"llama.cpp"|"vllm"|"lm-studio"|"groq"|"anthropic"|"openrouter", or Invalid input: expected object, received string. Correct it.',
    ],
    [
      "a wrong field of a dialect",
      { models: { a: { model: "m", dialect: { name: "vllm", tokenLimit: "none" } } } },
      'is not valid at models.a.dialect.tokenLimit: Invalid option: expected one of "max_tokens"|"max_completion_tokens". Correct it.',
    ],
    [
      "a header for the key in which something else belongs",
      { dialect: { keyHeader: "Content-Type" } },
      "is not valid at dialect.keyHeader: must be another header: each request says what belongs in this one. Correct it.",
    ],
    [
      "a secret's header with its value",
      { models: { a: { model: "m", dialect: { headers: { "Helicone-Auth": "Bearer x" } } } } },
      "is not valid at models.a.dialect.headers.Helicone-Auth: is one of a secret: name its variable in apiKeyVariable, and the header as keyHeader. Correct it.",
    ],
    [
      "a header that no request can carry",
      { dialect: { headers: { "x-title": "a\nb" } } },
      "is not valid at dialect.headers.x-title: holds characters that no header can carry, such as a line break or a typographic quote. Correct it.",
    ],
    [
      "a name of a model that is none",
      { models: { "a b": { model: "m" } } },
      "is not valid at models.a b: must be a name: letters, digits, and . _ : / - after the first. Correct it.",
    ],
    ["an unknown key", { agent: {} }, 'is not valid at its root: Unrecognized key: "agent". Correct it.'],
    [
      "a key itself, which does not belong in a file",
      { agents: { a: { apiKey: "sk-secret" } } },
      'is not valid at agents.a: Unrecognized key: "apiKey". Correct it.',
    ],
    [
      "a wrong endpoint",
      { agents: { a: { baseUrl: "file:///etc/passwd" } } },
      "is not valid at agents.a.baseUrl: Invalid URL. Correct it.",
    ],
    [
      "a wrong number",
      { agents: { a: { timeoutSeconds: 0 } } },
      "is not valid at agents.a.timeoutSeconds: Too small: expected number to be >=1. Correct it.",
    ],
    [
      "an MCP server's name that could be taken for another's",
      { mcpServers: { "a.b": { command: "x" } } },
      "is not valid at mcpServers.a.b: must have a name of at most 32 characters of a-z 0-9 -, a letter first. Correct it.",
    ],
    [
      "an MCP server as other programs have it",
      {
        mcpServers: { s: { type: "http", url: "https://x.example", headers: { Authorization: "Bearer x" } } },
      },
      'is not valid at mcpServers.s: Unrecognized keys: "type", "headers". Leave type out: command or url says which it is. In place of an Authorization header, name the worker\'s variable with the token in bearerVariable; those of other headers in headerVariables. Correct it.',
    ],
    ...["${TEA_TOKEN}", "${env:TEA_TOKEN}"].map((value): [string, object, string] => [
      `an MCP server's variable with the value ${value}, as other programs have it`,
      { mcpServers: { s: { command: "x", env: { TEA_TOKEN: value } } } },
      "is not valid at mcpServers.s.env.TEA_TOKEN: is handed on as it stands: name TEA_TOKEN in envVariables. Correct it.",
    ]),
    [
      "an MCP server with an unknown key",
      { mcpServers: { s: { command: "x", key: "sk-secret" } } },
      'is not valid at mcpServers.s: Unrecognized key: "key". Correct it.',
    ],
    [
      "an MCP server with a login in its URL",
      { mcpServers: { s: { url: "https://me:sk-secret@host" } } },
      "is not valid at mcpServers.s.url: must hold no user name and no password: name a variable in bearerVariable. Correct it.",
    ],
    ...(
      [
        ["Authorization", "is the header of bearerVariable as well: name it once"],
        ["x-KEY", "is the header of X-Key as well: name it once"],
        ["Mcp-Session-Id", "must be another header: each request says what belongs in this one"],
        ["X-Other: ", "must be the name of a header"],
      ] as const
    ).map(([name, why]): [string, object, string] => [
      `the header ${name} of an MCP server`,
      {
        mcpServers: {
          s: {
            url: "https://x.example",
            bearerVariable: "T",
            headerVariables: { "X-Key": "K", [name]: "K" },
          },
        },
      },
      `is not valid at mcpServers.s.headerVariables.${name}: ${why}. Correct it.`,
    ]),
    [
      "an MCP server in a place relative to nobody knows what",
      { mcpServers: { s: { command: "x", cwd: "here" } } },
      "is not valid at mcpServers.s.cwd: must be an absolute path or @project. Correct it.",
    ],
    [
      "an MCP server whose argument leads out of its project",
      { mcpServers: { s: { command: "x", args: ["--root=@project/../x"] } } },
      "is not valid at mcpServers.s.args.0: must not lead out of @project. Correct it.",
    ],
    [
      "an MCP server whose variable names its project in vain",
      { mcpServers: { s: { command: "x", env: { GO: "cd @project && x" } } } },
      "is not valid at mcpServers.s.env.GO: must have @project at the beginning or behind = : or , and alone or before a path: nowhere else it stands for the project. Correct it.",
    ],
    [
      "an MCP server that waits for ever",
      { mcpServers: { s: { command: "x", timeoutSeconds: 3601 } } },
      "is not valid at mcpServers.s.timeoutSeconds: Too big: expected number to be <=3600. Correct it.",
    ],
    [
      "an MCP server that is none",
      { mcpServers: { s: {} } },
      "is not valid at mcpServers.s.command: Invalid input: expected string, received undefined. Correct it.",
    ],
    [
      "a wrong list",
      { protectedPaths: { notWritable: ".git" } },
      "is not valid at protectedPaths.notWritable: Invalid input: expected array, received string. Correct it.",
    ],
    [
      "a protected path that is none",
      { protectedPaths: { alsoAllowed: ["/etc/"] } },
      "is not valid at protectedPaths.alsoAllowed.0: must be names, as in .vscode/tasks.json. Correct it.",
    ],
  ])("with %s is refused by its place, with a remedy", async (_, content, sentence) => {
    await settings(content);
    expect(refusal()).toBe(`The settings file ${join(dir, "store", "settings.json")} ${sentence}`);
    expect(refusal()).not.toContain("sk-secret");
  });

  test("is read as editors of Windows save it", async () => {
    await settings('\uFEFF{\r\n"starts": "signed"\r\n}\r\n');
    expect(load().starts).toBe("signed");
  });

  test.each([
    ["UTF-16", Buffer.from("\uFEFF{}", "utf16le"), UTF_16],
    ["UTF-16 the other way round", Buffer.from("\uFEFF{}", "utf16le").swap16(), UTF_16],
    ["UTF-16 without its mark", Buffer.from("{}", "utf16le"), UTF_16],
    ["a page of one language's letters", Buffer.from('{"model":"ü"}', "latin1"), OTHER_ENCODING],
  ])("in %s is refused by its encoding, with a remedy", async (_, bytes, problem) => {
    const path = join(dir, "store", "settings.json");
    await writeFile(path, bytes);
    expect(refusal()).toBe(`The settings file ${path} ${problem}.`);
  });
});

test("a file with a secret is read as Windows writes it, and refused by its encoding", async () => {
  const path = join(dir, "key");
  await writeFile(path, "\uFEFFsk-secret\r\n");
  const { models } = load({ OPENAI_API_KEY_FILE: path, INTERLOCK_MODEL: "m" });
  expect(models.settingsFor("a")?.apiKey).toBe("sk-secret");
  await writeFile(path, Buffer.from("\uFEFFsk-secret\r\n", "utf16le"));
  for (const variable of ["OPENAI_API_KEY_FILE", "INTERLOCK_SEAL_KEYS_FILE"])
    expect(refusal({ [variable]: path })).toBe(`The file that ${variable} names ${UTF_16}.`);
});

test("keys in place of the file that should hold them are not repeated", () => {
  const key = Buffer.alloc(32, 7).toString("base64");
  const said = refusal({ INTERLOCK_SEAL_KEYS_FILE: `k1:${key}` });
  expect(said).toContain("INTERLOCK_SEAL_KEYS_FILE names a file that cannot be read");
  expect(said).not.toContain(key);
});

test("a file of keys is read as Windows writes it, with comments", async () => {
  const path = join(dir, "keys");
  const key = Buffer.alloc(32, 7).toString("base64");
  await writeFile(path, `\uFEFF# newest first\r\nk2:${key}\r\n\r\n  # old\r\nk1:${key}\r\n`);
  expect([...(load({ INTERLOCK_SEAL_KEYS_FILE: path }).sealKeys?.readers.keys() ?? [])]).toEqual([
    "k2",
    "k1",
  ]);
});
