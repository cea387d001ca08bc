import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { ConfigError, loadConfig } from "../../src/config.js";
import type { ModelRef } from "../../src/core/run/run-model.js";
import type { ModelCatalog } from "../../src/model/model-catalog.js";

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

/** The models of a worker with this settings file and these variables. */
function catalogOf(settings: object, variables: Record<string, string> = {}): ModelCatalog {
  const dir = mkdtempSync(join(tmpdir(), "interlock-catalog-"));
  dirs.push(dir);
  const path = join(dir, "settings.json");
  writeFileSync(path, JSON.stringify(settings));
  return loadConfig({ INTERLOCK_STORE: dir, INTERLOCK_SETTINGS: path, ...variables }).models;
}

const COMMON = {
  INTERLOCK_MODEL: "m",
  OPENAI_BASE_URL: "https://common.test/v1",
  OPENAI_API_KEY: "common-key",
};
const FAST = { model: "quick", baseUrl: "https://fast.test/v1", apiKeyVariable: "FAST_KEY" };

function reached(catalog: ModelCatalog, ref: Partial<ModelRef>, agentId = "anybody") {
  return catalog.reachRef({ model: "m", endpoint: "https://common.test/v1", ...ref }, agentId);
}

describe("the model of a run", () => {
  test("is the default, by its id or the name of an entry; the variable wins over the file", () => {
    const settings = { model: "fast", models: { fast: FAST } };
    const fast = { name: "fast", model: "quick", endpoint: "https://fast.test/v1", keyed: true };
    expect(catalogOf(settings, { FAST_KEY: "k" }).choose(undefined, ["a"])).toEqual({ chain: [fast] });
    expect(catalogOf(settings, { ...COMMON, FAST_KEY: "k" }).choose(undefined, ["a"])).toEqual({
      chain: [{ model: "m", endpoint: "https://common.test/v1", keyed: true }],
    });
  });

  test("may be wanted by name, by id, and at an endpoint that the worker has", () => {
    const catalog = catalogOf({ models: { fast: FAST } }, { ...COMMON, FAST_KEY: "k" });
    const fast = { name: "fast", model: "quick", endpoint: "https://fast.test/v1", keyed: true };
    for (const wanted of [
      { name: "fast" },
      { model: "fast" },
      { name: "fast", model: "quick", baseUrl: "https://fast.test/v1/" },
      { model: "quick", baseUrl: "https://FAST.test:443/x/../v1" },
    ]) {
      expect({ wanted, ...catalog.choose(wanted, ["a"]) }).toEqual({ wanted, chain: [fast] });
    }
    expect(catalog.choose({ model: "other", baseUrl: "https://fast.test/v1" }, ["a"])).toEqual({
      chain: [{ model: "other", endpoint: "https://fast.test/v1", keyed: true }],
    });
  });

  test.each([
    [{ name: "slow" }, /no model "slow"\. Add it to models/],
    [{ name: "fast", baseUrl: "https://other.test/v1" }, /entry "fast" of models is another model/],
    [{ name: "fast", model: "else" }, /entry "fast" of models is another model/],
    [{ baseUrl: "https://thief.test/v1" }, /no endpoint for the model m at thief\.test/],
    [{ baseUrl: "https://common.test/v1/../v2" }, /no endpoint/],
    [{ baseUrl: "https://common.test./v1" }, /no endpoint/],
    [{ baseUrl: "http://common.test/v1" }, /no endpoint/],
    [{ baseUrl: "https://common.test:8443/v1" }, /no endpoint/],
    [{ baseUrl: "https://common.test@thief.test/v1" }, /no endpoint/],
    [{ baseUrl: "https://common.test/%761" }, /no endpoint/],
    [{ name: "unkeyed" }, /no key for the model unkeyed \(u at unkeyed\.test\)\. Set UNSET_KEY/],
    [{ fallbacks: ["slow"] }, /no model "slow" to fall back to/],
  ])("is missing where the worker has it not: %j", (wanted, sentence) => {
    const unkeyed = { model: "u", baseUrl: "https://unkeyed.test/v1", apiKeyVariable: "UNSET_KEY" };
    const catalog = catalogOf({ models: { fast: FAST, unkeyed } }, { ...COMMON, FAST_KEY: "k" });
    expect(catalog.choose(wanted, ["a"])).toEqual({ missing: expect.stringMatching(sentence) as string });
  });

  test("is followed by its fallbacks, and these by theirs, each once", () => {
    const models = {
      a: { model: "a", fallbacks: ["b", "d"] },
      b: { model: "b", fallbacks: ["c"] },
      c: { model: "c" },
      d: { model: "d", fallbacks: ["c"] },
    };
    const names = (wanted: object) => {
      const chosen = catalogOf({ models }, COMMON).choose(wanted, ["x"]);
      return "missing" in chosen ? chosen.missing : chosen.chain.map(({ model }) => model);
    };
    expect(names({ name: "a" })).toEqual(["a", "b", "c", "d"]);
    expect(names({ name: "a", fallbacks: ["d"] })).toEqual(["a", "d", "c"]);
    expect(names({ fallbacks: ["b"] })).toEqual(["m", "b", "c"]);
  });

  test("falls back to itself where it is asked with other parameters then, and to no entry that is alike", () => {
    const flex = { ...FAST, parameters: { service_tier: "flex", seed: 1 } };
    const alike = { ...FAST, parameters: { seed: 1, service_tier: "flex" } };
    const models = {
      flex: { ...flex, fallbacks: ["alike", "fast", "again"] },
      alike,
      fast: FAST,
      again: FAST,
    };
    const chosen = catalogOf({ models }, { FAST_KEY: "k" }).choose({ name: "flex" }, ["a"]);
    expect("chain" in chosen && chosen.chain.map(({ name }) => name)).toEqual(["flex", "fast"]);
  });

  test("falls back to itself behind a gateway that is told in headers of whom else it wants the answer", () => {
    const of = (provider: string) => ({ ...FAST, dialect: { headers: { "x-portkey-provider": provider } } });
    const models = {
      openai: { ...of("openai"), fallbacks: ["again", "azure", "plain"] },
      again: of("openai"),
      azure: of("azure-openai"),
      plain: FAST,
    };
    const chosen = catalogOf({ models }, { FAST_KEY: "k" }).choose({ name: "openai" }, ["a"]);
    expect("chain" in chosen && chosen.chain.map(({ name }) => name)).toEqual(["openai", "azure", "plain"]);
  });

  test("is not an agent's that has its own; one that has fallbacks alone puts them behind the run's", () => {
    const agents = { own: { model: "fast" }, spare: { fallbacks: ["fast"] }, warm: { temperature: 1 } };
    const catalog = catalogOf({ models: { fast: FAST }, agents }, { ...COMMON, FAST_KEY: "k" });
    const run = { model: "m", endpoint: "https://common.test/v1", keyed: true };
    const fast = { name: "fast", model: "quick", endpoint: "https://fast.test/v1", keyed: true };
    expect(catalog.choose(undefined, ["own", "spare", "warm", "nobody"])).toEqual({
      chain: [run],
      agents: [
        { agentId: "own", chain: [fast] },
        { agentId: "spare", chain: [run, fast] },
      ],
    });
    expect(reached(catalog, { keyed: true }, "warm")).toMatchObject({ model: "m", temperature: 1 });
  });

  test("has the parameters of its entry, or the agent's in their place, and no other model has them", () => {
    const [deep, light] = [{ reasoning_effort: "high" }, { reasoning_effort: "low" }];
    const catalog = catalogOf(
      {
        models: { fast: { ...FAST, parameters: deep } },
        agents: { light: { parameters: light }, own: { model: "fast", parameters: light } },
      },
      { ...COMMON, FAST_KEY: "k" },
    );
    const ref = { name: "fast", model: "quick", endpoint: "https://fast.test/v1", keyed: true as const };
    expect(reached(catalog, ref)).toMatchObject({ parameters: deep });
    expect(reached(catalog, ref, "light")).toMatchObject({ parameters: light });
    expect(catalog.settingsFor("own")).toMatchObject({ parameters: light });
    expect(reached(catalog, {})).not.toHaveProperty("parameters");
    const other = { model: "another", endpoint: "https://fast.test/v1", keyed: true as const };
    expect(reached(catalog, other)).not.toHaveProperty("parameters");
  });

  test("is needed by no agent that has its own", () => {
    const catalog = catalogOf({ agents: { own: FAST } }, { FAST_KEY: "k" });
    expect(catalog.choose(undefined, ["own"])).toMatchObject({ chain: [], agents: [{ agentId: "own" }] });
    expect(catalog.choose(undefined, ["own", "other"])).toEqual({
      missing: expect.stringContaining("no model is configured") as string,
    });
  });
});

describe("a key", () => {
  const settings = {
    models: { fast: FAST, plain: { model: "p", baseUrl: "https://plain.test/v1" } },
    agents: {
      warm: { apiKeyVariable: "WARM_KEY" },
      own: { model: "o", baseUrl: "https://own.test/v1", apiKeyVariable: "OWN_KEY" },
    },
  };
  const keys = { ...COMMON, FAST_KEY: "fast-key", WARM_KEY: "warm-key", OWN_KEY: "own-key" };
  const places = ["common", "fast", "plain", "own"];

  test("goes to the endpoint alone that it was given for, whatever the run and the agent are called", () => {
    const catalog = catalogOf(settings, keys);
    const given = (host: string, agentId: string) => {
      const settingsOf = reached(catalog, { endpoint: `https://${host}.test/v1`, name: "fast" }, agentId);
      return "missing" in settingsOf ? "missing" : (settingsOf.apiKey ?? "none");
    };
    expect(places.map((host) => given(host, "anybody"))).toEqual([
      "common-key",
      "fast-key",
      "none",
      "own-key",
    ]);
    expect(places.map((host) => given(host, "warm"))).toEqual(["warm-key", "fast-key", "none", "own-key"]);
    expect(places.map((host) => given(host, "own"))).toEqual(["common-key", "fast-key", "none", "own-key"]);
  });

  test("goes to no endpoint that is typed at the command line", () => {
    const catalog = catalogOf(settings, keys).withEndpoint("https://typed.test/v1");
    expect(catalog.choose({ model: "x", baseUrl: "https://typed.test/v1" }, ["a"])).toEqual({
      chain: [{ model: "x", endpoint: "https://typed.test/v1" }],
    });
    expect(reached(catalog, { endpoint: "https://typed.test/v1" })).not.toHaveProperty("apiKey");
  });

  test("that the run was opened with and the worker lacks leaves the turn to others", () => {
    const catalog = catalogOf(settings, { ...COMMON, OPENAI_API_KEY: "" });
    expect(reached(catalog, { keyed: true })).toEqual({
      missing: "it has no key for the model m at common.test. Set OPENAI_API_KEY",
    });
    expect(reached(catalog, {})).toMatchObject({ model: "m" });
  });

  test("in the query of a base URL is sent there, and is in no run", () => {
    const catalog = catalogOf({}, { ...COMMON, OPENAI_BASE_URL: "https://common.test/v1?key=secret" });
    const chosen = catalog.choose(undefined, ["a"]);
    expect(JSON.stringify(chosen)).not.toContain("secret");
    expect(reached(catalog, { keyed: true })).toMatchObject({ baseUrl: "https://common.test/v1?key=secret" });
  });
});

describe("a price", () => {
  test("goes by the entry's name, else by the model's id", () => {
    const price = (inputPerMillion: number) => ({ inputPerMillion, outputPerMillion: 1 });
    const catalog = catalogOf(
      { models: { fast: FAST }, prices: { fast: price(1), quick: price(2) } },
      COMMON,
    );
    expect(catalog.priceOf({ name: "fast", model: "quick" })).toEqual(price(1));
    expect(catalog.priceOf({ model: "quick" })).toEqual(price(2));
    expect(catalog.priceOf({ model: "m" })).toBeUndefined();
  });
});

describe("settings of models that cannot be used are refused with their place", () => {
  const chain = (length: number) =>
    Object.fromEntries(
      Array.from({ length }, (_, at) => [
        `m${at}`,
        { model: "x", ...(at + 1 < length ? { fallbacks: [`m${at + 1}`] } : {}) },
      ]),
    );
  test.each([
    [{ models: { a: { model: "x", fallbacks: ["b"] } } }, 'models.a.fallbacks.0: "b" is not in models'],
    [{ agents: { a: { fallbacks: ["b"] } } }, 'agents.a.fallbacks.0: "b" is not in models'],
    [{ models: { a: { model: "x", fallbacks: ["a"] } } }, "models.a.fallbacks: a → a is a circle"],
    [
      {
        models: {
          a: { model: "x", fallbacks: ["b"] },
          b: { model: "y", fallbacks: ["c"] },
          c: { model: "z", fallbacks: ["b"] },
        },
      },
      "models.b.fallbacks: b → c → b is a circle",
    ],
    [{ models: chain(10) }, "models.m0.fallbacks: 10 models follow one another; at most 9 may"],
    [{ models: { a: {} } }, "models.a.model"],
    [{ models: { "a b": { model: "x" } } }, "models.a b"],
    [{ models: { a: { model: "x", baseUrl: "http://u:p@h/v1" } } }, "models.a.baseUrl"],
    [{ models: { a: { model: "x", key: "sk" } } }, "models.a"],
    [{ model: "" }, "model"],
  ])("%j", (settings, sentence) => {
    let said = "";
    try {
      catalogOf(settings);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      said = error.message;
    }
    expect(said).toContain(`is not valid at ${sentence}`);
  });

  test("names that objects have of themselves are names like others", () => {
    const catalog = catalogOf({}, COMMON);
    for (const name of ["constructor", "__proto__", "toString"]) {
      expect(catalog.choose({ name }, ["a"])).toHaveProperty("missing");
      expect(catalog.priceOf({ model: name })).toBeUndefined();
    }
  });
});
