import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { checkCapacity, checkMemory, checkNode, checkOtherUsers } from "../../src/doctor/check-machine.js";
import { bounded } from "../../src/doctor/finding.js";
import { newStoreDir } from "./places.js";

test("a Node that is too old fails, this one does not", async () => {
  expect(await checkNode("18.20.0")).toMatchObject({ name: "node", status: "failed" });
  expect(await checkNode()).toMatchObject({ status: "ok", found: process.versions.node });
});

test.each([
  [undefined, "skipped"],
  [20, "failed"],
  [256, "warning"],
  [4096, "ok"],
])("with up to %s open files it is %s", (limit, status) => {
  const [openFiles, worker] = checkCapacity({
    cores: 2,
    memory: 8 * 1024 ** 3,
    heap: 4 * 1024 ** 3,
    descriptors: { limit, open: 20 },
  });
  expect(openFiles).toMatchObject({ name: "open files", status });
  const saysSize = /^\d+ activities, .*runs in memory/.test(worker?.found ?? "");
  expect(saysSize).toBe(status !== "failed");
});

test("little memory is said", () => {
  const gib = 1024 ** 3;
  expect(checkMemory(gib / 4, 4 * gib)).toMatchObject({
    status: "warning",
    found: "256 MiB of 4096 MiB free",
  });
  expect(checkMemory(gib, 4 * gib)).toMatchObject({ status: "ok" });
});

describe("other users of the machine", () => {
  const tableOf = async (...lines: readonly string[]) => {
    const path = join(await newStoreDir(), "passwd");
    await writeFile(path, `${lines.join("\n")}\n`);
    return path;
  };
  const SYSTEM = [
    "root:x:0:0:root:/root:/bin/bash",
    "daemon:x:1:1::/:/bin/sh",
    "nobody:x:65534:65534::/:/bin/sh",
    "build:x:1500:1500::/:/usr/sbin/nologin",
    `me:x:${process.getuid?.()}:0::/home/me:/bin/bash`,
    "half a line",
  ];
  const open = { reachable: true, starts: "open" } as const;

  test("are told of where the server has no login and starts are open", async () => {
    const table = await tableOf(
      ...SYSTEM,
      "ada:x:4001:1001::/home/ada:/bin/bash",
      "bob:x:4002:1002::/home/bob:",
    );
    const finding = await checkOtherUsers(open, table);
    expect(finding).toMatchObject({ status: "warning" });
    expect(finding.found).toContain("2 other accounts with a login (ada, bob)");
    expect(finding.remedy).toContain("INTERLOCK_STARTS=signed");
    expect(await checkOtherUsers({ ...open, starts: "signed" }, table)).toMatchObject({ status: "ok" });
    expect(await checkOtherUsers({ ...open, reachable: false }, table)).toMatchObject({ status: "ok" });
  });

  test("are not the system's accounts, nor ourselves", async () => {
    expect(await checkOtherUsers(open, await tableOf(...SYSTEM))).toMatchObject({ status: "ok" });
  });

  test("are not known where there is no table", async () => {
    expect(await checkOtherUsers(open, join(await newStoreDir(), "none"))).toMatchObject({
      status: "skipped",
    });
  });
});

test("a check that hangs or breaks is a finding", async () => {
  const hanging = await bounded("slow", () => new Promise(() => undefined), 20);
  expect(hanging).toMatchObject([{ name: "slow", status: "failed" }]);
  const broken = await bounded("broken", () => Promise.reject(new Error("no disk")));
  expect(broken).toMatchObject([{ status: "failed", found: "could not be checked: no disk" }]);
});
