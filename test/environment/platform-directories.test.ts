import { expect, test } from "vitest";
import { platformDirectories } from "../../src/environment/platform-directories.js";

const HOME = "/home/ada";

test.each([
  ["linux", {}, "/home/ada/.local/share/interlock", "/home/ada/.cache/interlock"],
  ["linux", { XDG_DATA_HOME: "/data", XDG_CACHE_HOME: "/tmp/c" }, "/data/interlock", "/tmp/c/interlock"],
  [
    "darwin",
    { XDG_DATA_HOME: "/data" },
    "/home/ada/Library/Application Support/interlock",
    "/home/ada/Library/Caches/interlock",
  ],
  ["win32", { LOCALAPPDATA: "/local" }, "/local/interlock/Data", "/local/interlock/Cache"],
] as const)(
  "on %s with %j data and cache lie where other applications have them",
  (platform, environment, data, cache) => {
    expect(platformDirectories(environment, platform, HOME)).toEqual({ data, cache });
  },
);

test("a relative path is none: each directory that a command is called in would have a store of its own", () => {
  const relative = { XDG_DATA_HOME: "data", XDG_CACHE_HOME: "" };
  expect(platformDirectories(relative, "linux", HOME)).toEqual(platformDirectories({}, "linux", HOME));
});

test("without a home directory there is what is named absolutely, and nothing else", () => {
  expect(platformDirectories({ XDG_CACHE_HOME: "/c" }, "linux", undefined)).toEqual({
    cache: "/c/interlock",
  });
  expect(platformDirectories({}, "darwin", undefined)).toEqual({});
});
