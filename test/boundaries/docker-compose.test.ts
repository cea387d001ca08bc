import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { INTERLOCK_VARIABLES, loadConfig } from "../../src/config.js";
import { SEARCH_ATTRIBUTES } from "../../src/contract/names.js";
import { gateOptionsSchema } from "../../src/embedded/gate.js";
import {
  ROOT,
  composeFindings,
  environmentOf,
  interpolate,
  mountsOf,
  parseCompose,
  readText,
  variablesOf,
} from "./compose-file.js";

const composeText = readText("docker-compose.yml");
const compose = parseCompose(composeText);
const services = Object.entries(compose.services);
const dockerfile = readText("Dockerfile");
const guide = readText("docs/running-as-a-service.md");

/** What a user must set, and nothing else. */
const REQUIRED = { POSTGRES_PASSWORD: "secret" };

function service(name: string) {
  const found = compose.services[name];
  if (found === undefined) throw new Error(`docker-compose.yml has no service "${name}"`);
  return found;
}

/** A service that is to end with success before others start. */
function isOneShot(name: string): boolean {
  return service(name).restart === "no";
}

describe("docker-compose.yml against the Compose Specification", () => {
  test("is valid", () => {
    expect(composeFindings(compose)).toEqual([]);
  });

  test("a misspelt key would not be", () => {
    const worker = { ...service("worker"), helthcheck: {} };
    expect(composeFindings({ ...compose, services: { ...compose.services, worker } })).not.toEqual([]);
  });
});

describe("images", () => {
  const PINNED = /^[a-z][a-z/-]*:v?\d+\.\d+(\.\d+)?(-[a-z]+)*@sha256:[0-9a-f]{64}$/;
  const BUILT_HERE = /^interlock-worker:\d+\.\d+\.\d+$/;
  const tagged = (image: string) => image.split("@")[0] ?? "";
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map((match) => match[1] ?? "");

  test.each([...services.map(([, { image }]) => image), ...bases])(
    "%s has the tag of one version, and the digest of what that was",
    (image) => {
      expect(image).toMatch(image.startsWith("interlock-worker") ? BUILT_HERE : PINNED);
    },
  );

  test("all stages of the worker's image have the same base", () => {
    expect(new Set(bases).size).toBe(1);
  });

  test("Temporal's are the versions of the embedded server", () => {
    const version = (name: string) => tagged(service(name).image).split(":")[1];
    expect(version("temporal-schema")).toBe(version("temporal"));
    expect(version("temporal-namespace")).toBe(version("temporal"));
    expect(readText("src/embedded/cli-release.ts")).toContain(
      `server ${version("temporal")}, Web UI ${version("temporal-ui")}.`,
    );
  });

  test("the worker's has the version of this package", () => {
    const { version } = JSON.parse(readText("package.json")) as { version: string };
    expect(service("worker").image).toBe(`interlock-worker:${version}`);
  });

  test("the page is served by the worker's image, with the worker's store and projects", () => {
    const [page, worker] = [service("page"), service("worker")];
    expect(page.image).toBe(worker.image);
    expect(mountsOf(page)).toEqual(mountsOf(worker));
  });

  test("the guide says which are pinned", () => {
    for (const image of [...services.map(([, { image }]) => image), ...bases]) {
      expect(guide).toContain(tagged(image));
    }
  });
});

describe("order of start", () => {
  const oneShots = services.filter(([name]) => isOneShot(name));
  const longRunning = services.filter(([name]) => !isOneShot(name));

  test.each(longRunning)("%s restarts and has a health check", (name, { restart, healthcheck }) => {
    expect(restart).toBe("unless-stopped");
    // The collector's image holds nothing that could ask it.
    expect(healthcheck?.test[0]).toBe(name === "otel-collector" ? undefined : "CMD");
  });

  test("the instruments start where they are asked for, and nothing waits for them", () => {
    const asked = services.filter(([, { profiles }]) => profiles !== undefined);
    expect(asked.map(([name, { profiles }]) => [name, profiles])).toEqual(
      ["prometheus", "grafana", "otel-collector"].map((name) => [name, ["instruments"]]),
    );
    const others = services.filter(([, { profiles }]) => profiles === undefined);
    const waitedFor = others.flatMap(([, { depends_on = {} }]) => Object.keys(depends_on));
    for (const [name] of asked) expect(waitedFor).not.toContain(name);
  });

  test.each(oneShots)("%s is a job that others wait for", (name, { healthcheck }) => {
    expect(healthcheck).toBeUndefined();
    expect(services.some(([, other]) => name in (other.depends_on ?? {}))).toBe(true);
  });

  test.each(services)(
    "%s depends on services that exist, by a condition that they can meet",
    (_, service) => {
      for (const [name, { condition }] of Object.entries(service.depends_on ?? {})) {
        expect(Object.keys(compose.services)).toContain(name);
        expect(condition).toBe(isOneShot(name) ? "service_completed_successfully" : "service_healthy");
      }
    },
  );

  test("the chain is database, schema, server, namespace, worker", () => {
    const first = (name: string) => Object.keys(service(name).depends_on ?? {});
    expect(first("worker")).toEqual(["temporal-namespace"]);
    expect(first("page")).toEqual(["temporal-namespace"]);
    expect(first("temporal-namespace")).toEqual(["temporal"]);
    expect(first("temporal-ui")).toEqual(["temporal"]);
    expect(first("web-ui-gate")).toEqual(["temporal-ui"]);
    expect(first("temporal")).toEqual(["temporal-schema"]);
    expect(first("temporal-schema")).toEqual(["postgres"]);
    expect(first("postgres")).toEqual([]);
  });

  test.each(services)("the log of %s rotates", (_, service) => {
    expect(service.logging?.driver).toBe("local");
  });
});

describe("environment", () => {
  /** Variables of ours that have no place in the container: it neither fetches nor finds a Temporal CLI, serves no codec, and gets no file of keys. */
  const NOT_IN_A_CONTAINER = [
    "INTERLOCK_CACHE",
    "INTERLOCK_TEMPORAL_CLI",
    "INTERLOCK_CODEC_TOKEN",
    "INTERLOCK_SEAL_KEYS_FILE",
  ];
  /** They have a default in the store, which is a volume: settings.json, and the queue in store.json. */
  const KEPT_IN_THE_STORE = ["INTERLOCK_SETTINGS", "INTERLOCK_TASK_QUEUE"];
  const OF_TEMPORAL = ["TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE"];
  const OF_TRACES = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"];
  /** Files of secrets come with the Compose file of their own. */
  const BESIDE = ["OPENAI_API_KEY_FILE"];

  test("browsers reach the Web UI through its gate alone, which answers to its published address", () => {
    expect(service("temporal-ui").ports).toBeUndefined();
    const { command } = (
      parse(composeText) as { services: { "web-ui-gate": { command: readonly string[] } } }
    ).services["web-ui-gate"];
    const options = gateOptionsSchema.parse(
      JSON.parse(interpolate(command[2] ?? "", { WEB_UI_PORT: "9000" })),
    );
    expect(options).toEqual({
      announced: { host: "127.0.0.1", port: 9000 },
      listenHost: "0.0.0.0",
      ui: { host: "temporal-ui", port: 8080 },
    });
    expect(command[1]).toBe("/app/dist/embedded/gate-main.js");
  });

  test("Prometheus lets pages of its own origin alone read its answers: by itself it allows every page", () => {
    const { command } = (parse(composeText) as { services: { prometheus: { command: readonly string[] } } })
      .services.prometheus;
    expect(command).toContain("--web.cors.origin=http://127\\.0\\.0\\.1:${PROMETHEUS_PORT:-9090}");
  });

  test("Prometheus scrapes the worker where it serves its metrics, which no other machine reaches", () => {
    const { INTERLOCK_METRICS: metrics = "", INTERLOCK_HEALTH: health } = service("worker").environment;
    const { scrape_configs: jobs } = parse(readText("deploy/instruments/prometheus.yml")) as {
      scrape_configs: readonly { dns_sd_configs: readonly { names: readonly string[]; port: number }[] }[];
    };
    expect(jobs.flatMap(({ dns_sd_configs }) => dns_sd_configs)).toEqual([
      { names: ["worker"], type: "A", port: Number(metrics.split(":")[1]) },
    ]);
    expect(health).toMatch(/^127\.0\.0\.1:/);
    expect(service("worker").ports).toBeUndefined();
  });

  test("the worker gets every variable of src/config.ts that has a place there, and no other", () => {
    const elsewhere = [...NOT_IN_A_CONTAINER, ...KEPT_IN_THE_STORE, ...BESIDE];
    const expected = INTERLOCK_VARIABLES.filter((name) => !elsewhere.includes(name));
    expect(Object.keys(service("worker").environment).sort()).toEqual(
      [...expected, ...OF_TEMPORAL, ...OF_TRACES].sort(),
    );
  });

  test("the configuration reads from it what the other services are", () => {
    const config = loadConfig({ PATH: "/usr/bin", ...environmentOf(service("worker"), REQUIRED) });
    expect(config.storeDir).toBe(mountsOf(service("worker")).get("store"));
    expect(config.temporal?.connectionOptions.address).toBe("temporal:7233");
    expect(config.temporal?.namespace).toBe(service("temporal-namespace").environment["TEMPORAL_NAMESPACE"]);
    const { host, port } = new URL(config.webUi ?? "");
    const [uiPort = ""] = service("web-ui-gate").ports ?? [];
    expect(interpolate(uiPort, {})).toBe(`${host}:${port}`);
    const check = new URL(config.webUiCheck ?? ""); // 127.0.0.1 is the container itself
    expect([check.hostname, check.port]).toEqual(["web-ui-gate", port]);
    expect(config.modelSettingsFor("any")).toBeUndefined();
  });

  test("the page seals and reads histories as the worker does, and has all else of ours from it", () => {
    const keys = `day:${Buffer.alloc(32, 1).toString("base64")}`;
    const user = { ...REQUIRED, INTERLOCK_SEAL_KEYS: keys, INTERLOCK_STARTS: "signed" };
    const [page, worker] = ["page", "worker"].map((name) => environmentOf(service(name), user));
    expect(page?.["INTERLOCK_SEAL_KEYS"]).toBe(keys);
    expect(worker).toMatchObject(page ?? {});
  });

  test("a model set by the user reaches the configuration", () => {
    const user = {
      ...REQUIRED,
      INTERLOCK_MODEL: "some-model",
      INTERLOCK_MODEL_STREAM: "true",
      INTERLOCK_MODEL_TIMEOUT_SECONDS: "30",
      OPENAI_API_KEY: "key",
      OPENAI_BASE_URL: "http://host.docker.internal:11434/v1",
    };
    const config = loadConfig({ PATH: "/usr/bin", ...environmentOf(service("worker"), user) });
    expect(config.modelSettingsFor("any")).toMatchObject({
      model: "some-model",
      stream: true,
      timeoutMs: 30_000,
      apiKey: "key",
      baseUrl: "http://host.docker.internal:11434/v1",
    });
  });

  /** What the programs in the other images read, from their own configuration templates and help texts. */
  const READ_BY: Record<string, readonly string[]> = {
    postgres: ["POSTGRES_USER", "POSTGRES_PASSWORD"],
    "temporal-schema": ["SQL_PLUGIN", "SQL_HOST", "SQL_PORT", "SQL_USER", "SQL_PASSWORD"],
    temporal: [
      "DB",
      "POSTGRES_SEEDS",
      "DB_PORT",
      "POSTGRES_USER",
      "POSTGRES_PWD",
      "DBNAME",
      "VISIBILITY_DBNAME",
      "NUM_HISTORY_SHARDS",
      "BIND_ON_IP",
      "DYNAMIC_CONFIG_FILE_PATH",
      "LOG_LEVEL",
    ],
    "temporal-namespace": OF_TEMPORAL,
    "temporal-ui": ["TEMPORAL_ADDRESS", "TEMPORAL_DEFAULT_NAMESPACE", "TEMPORAL_DISABLE_NEWS_FETCH"],
    "web-ui-gate": [],
    page: [
      ...OF_TEMPORAL,
      "INTERLOCK_STORE",
      "INTERLOCK_PROJECT_ROOTS",
      "INTERLOCK_STARTS",
      "INTERLOCK_SEAL_KEYS",
      "INTERLOCK_WEB_UI",
    ],
    prometheus: [],
    grafana: [
      "GF_AUTH_ANONYMOUS_ENABLED",
      "GF_AUTH_ANONYMOUS_ORG_ROLE",
      "GF_AUTH_DISABLE_LOGIN_FORM",
      "GF_AUTH_BASIC_ENABLED",
      "GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION",
      "GF_ANALYTICS_REPORTING_ENABLED",
      "GF_ANALYTICS_CHECK_FOR_UPDATES",
      "GF_PLUGINS_PREINSTALL_DISABLED",
      "GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH",
    ],
    "otel-collector": [],
  };

  test.each(Object.entries(READ_BY))("%s gets variables that it reads", (name, known) => {
    for (const variable of Object.keys(service(name).environment ?? {})) expect(known).toContain(variable);
  });

  test("no service is left out of these lists", () => {
    expect([...Object.keys(READ_BY), "worker"].sort()).toEqual(Object.keys(compose.services).sort());
  });

  test("database and server agree on user, password, host, port and databases", () => {
    const [postgres, schema, temporal] = ["postgres", "temporal-schema", "temporal"].map((name) =>
      environmentOf(service(name), REQUIRED),
    );
    expect(schema).toMatchObject({
      SQL_USER: postgres?.["POSTGRES_USER"],
      SQL_PASSWORD: postgres?.["POSTGRES_PASSWORD"],
      SQL_HOST: temporal?.["POSTGRES_SEEDS"],
      SQL_PORT: temporal?.["DB_PORT"],
      SQL_PLUGIN: temporal?.["DB"],
    });
    expect(temporal).toMatchObject({
      POSTGRES_USER: postgres?.["POSTGRES_USER"],
      POSTGRES_PWD: postgres?.["POSTGRES_PASSWORD"],
    });
    const script = readText("deploy/set-up-schema.sh");
    expect(script).toContain(`set_up ${temporal?.["DBNAME"]} postgresql/v12/temporal\n`);
    expect(script).toContain(`set_up ${temporal?.["VISIBILITY_DBNAME"]} postgresql/v12/visibility\n`);
    expect(Object.keys(compose.services)).toContain(temporal?.["POSTGRES_SEEDS"]);
  });

  test("the guide explains every variable that the user may set, and none that is not there", () => {
    const explained = [...guide.matchAll(/^\| `([A-Z_]+)` \|/gm)].map((match) => match[1] ?? "");
    expect(explained.sort()).toEqual(variablesOf(composeText));
  });
});

describe("secrets and exposure", () => {
  const secrets = services.flatMap(([name, { environment }]) =>
    Object.entries(environment ?? {})
      .filter(([key]) => /PASSWORD|PWD|KEY|TOKEN|SECRET/.test(key))
      .map(([key, value]): [string, string] => [`${name} ${key}`, value]),
  );

  test.each(secrets)("%s comes from the user's environment alone", (_, value) => {
    expect(value).toMatch(/^\$\{[A-Z_]+:(\?[^}]*|-)\}$/);
  });

  test("without a password for the database nothing starts", () => {
    expect(() => environmentOf(service("postgres"), {})).toThrow("POSTGRES_PASSWORD is required");
  });

  const ports = services.flatMap(([name, { ports = [] }]) =>
    ports.map((port): [string, string] => [name, port]),
  );

  test.each(ports)("%s listens on this machine only: %s", (_, port) => {
    expect(interpolate(port, {})).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });

  test("the database is not published at all", () => {
    expect(service("postgres").ports).toBeUndefined();
  });
});

describe("the Compose files beside it", () => {
  const BESIDE = ["deploy/compose.secrets.yaml", "deploy/compose.tls.yaml"];
  const files = BESIDE.map((path) => [path, parseCompose(readText(path))] as const);

  test.each(files)("%s is valid, changes services that there are, and is explained", (path, file) => {
    expect(composeFindings(file)).toEqual([]);
    for (const name of Object.keys(file.services)) expect(Object.keys(compose.services)).toContain(name);
    expect(guide).toContain(`-f ${path}`);
  });

  test("with certificates, every connection between two services has one", () => {
    const tls = parseCompose(readText("deploy/compose.tls.yaml"));
    // The Web UI speaks HTTP, with its gate as with a browser.
    const talking = Object.entries(compose.services).filter(
      ([name, { profiles }]) => profiles === undefined && name !== "web-ui-gate",
    );
    expect(Object.keys(tls.services)).toEqual(talking.map(([name]) => name));
    const named = Object.values(tls.services).flatMap(({ environment }) =>
      Object.values(environment ?? {}).filter((value) => value.startsWith("/certs/")),
    );
    for (const file of named) expect(guide).toContain(file.replace("/certs/", ""));
  });
});

describe("files", () => {
  test("named volumes are declared and used, mounted files exist", () => {
    const sources = services.flatMap(([, each]) => [...mountsOf(each).keys()]);
    const named = sources.filter((source) => /^\w+$/.test(source));
    expect([...new Set(named)].sort()).toEqual(Object.keys(compose.volumes).sort());
    const paths = sources.filter((source) => source.startsWith("./"));
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  const scripts = readdirSync(join(ROOT, "deploy")).filter((file) => file.endsWith(".sh"));

  test.each(scripts)("deploy/%s is a shell script without errors of syntax", (script) => {
    expect(() => execFileSync("sh", ["-n", join(ROOT, "deploy", script)], { stdio: "pipe" })).not.toThrow();
  });

  test("every script is run by a service, from where it is mounted", () => {
    const run = services.flatMap(([, each]) =>
      each.entrypoint === undefined ? [] : [[mountsOf(each).get("./deploy"), each.entrypoint]],
    );
    expect(run).toEqual(
      ["set-up-schema.sh", "set-up-namespace.sh"].map((file) => ["/deploy", ["/bin/sh", `/deploy/${file}`]]),
    );
    expect(scripts.sort()).toEqual(["set-up-namespace.sh", "set-up-schema.sh"]);
  });

  test("the script registers the search attributes that runs set", () => {
    const [, names = ""] = /^SEARCH_ATTRIBUTES="(.*)"$/m.exec(readText("deploy/set-up-namespace.sh")) ?? [];
    expect(names.split(" ")).toEqual(Object.keys(SEARCH_ATTRIBUTES));
    expect(new Set(Object.values(SEARCH_ATTRIBUTES))).toEqual(new Set(["Keyword"]));
  });

  test("the server's dynamic configuration is the file that is mounted, and in its form", () => {
    const directory = mountsOf(service("temporal")).get("./deploy/dynamicconfig") ?? "";
    expect(service("temporal").environment["DYNAMIC_CONFIG_FILE_PATH"]).toBe(`${directory}/interlock.yaml`);
    const settings = parse(readText("deploy/dynamicconfig/interlock.yaml")) as Record<string, unknown>;
    expect(settings["frontend.WorkflowPauseEnabled"]).toEqual([{ value: true }]);
    for (const values of Object.values(settings)) expect(values).toEqual([{ value: expect.anything() }]);
  });
});

describe("the worker's image", () => {
  const [build = "", final = ""] = dockerfile.split(/^FROM .*$/m).slice(1);
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
    (match) => match[1]?.split(" ") ?? [],
  );

  test.each(copied)("%s is there to be copied, and not ignored", (path) => {
    expect(existsSync(join(ROOT, path))).toBe(true);
    expect(readText(".dockerignore").split("\n")).toContain(`!${path.split("/")[0]}`);
  });

  test("everything not named in .dockerignore stays out", () => {
    expect(
      readText(".dockerignore")
        .split("\n")
        .find((line) => !line.startsWith("#")),
    ).toBe("*");
  });

  test("what is copied between the stages is in the build", () => {
    const paths = [...final.matchAll(/^COPY --from=build \/app\/(\S+) /gm)].map((match) => match[1] ?? "");
    expect(paths).toEqual(["package.json", "node_modules", "dist"]);
    expect(build).toContain("npm run build");
  });

  test("it runs as the user that owns the store, with the arguments that Compose gives", () => {
    const names = [...final.matchAll(/^ARG (\w+)=(\d+)$/gm)].map((match) => [match[1], match[2]]);
    const args = service("worker").build?.args ?? {};
    expect(Object.entries(args).map(([key, value]) => [key, interpolate(value, {})])).toEqual(names);
    expect(final).toMatch(/^USER \$WORKER_UID:\$WORKER_GID$/m);
    const store = mountsOf(service("worker")).get("store") ?? "";
    expect(final).toContain(`-o "$WORKER_UID" -g "$WORKER_GID" ${store}\n`);
    expect(final).toContain(`ENV INTERLOCK_STORE=${store}\n`);
  });

  test("its health check is in it, and imports what the build makes", () => {
    expect(service("worker").healthcheck?.test).toEqual(["CMD", "node", "/app/deploy/worker-health.mjs"]);
    expect(final).toContain("COPY deploy/worker-health.mjs deploy/\n");
    const imports = [...readText("deploy/worker-health.mjs").matchAll(/"\.\.\/dist\/(.+)\.js"/g)];
    expect(imports.length).toBeGreaterThan(0);
    for (const [, module] of imports) expect(existsSync(join(ROOT, "src", `${module}.ts`))).toBe(true);
  });

  test("what traces need is in it", () => {
    expect(build).toMatch(/npm install --save-prod --ignore-scripts \$\(node -p '.*peerDependencies/);
  });
});
