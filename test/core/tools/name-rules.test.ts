import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  type Access,
  DEFAULT_PROTECTED_PATHS,
  NOTHING_PROTECTED,
  foldName,
  protectingRule,
  protectingRulesIn,
} from "../../../src/core/tools/name-rules.js";

const RULES = {
  notAccessible: [".env*", ".git", "id_*_key", "*private*key*", "secrets/live"],
  notWritable: [".husky", ".vscode/tasks.json", "*.sh.d"],
  allowed: [".env.example", ".husky/readme.md"],
};

function rule(path: string, access: Access = "write", checked = 0): string | undefined {
  return protectingRule(RULES, path.split("/"), access, checked);
}

describe("a name in a project", () => {
  test.each([
    [".git", ".git"],
    ["deep/down/.git/config", ".git"],
    [".env.local", ".env*"],
    ["id_my_key", "id_*_key"],
    ["id__key", "id_*_key"],
    ["my-private-key.pem", "*private*key*"],
    ["a/secrets/live/key.txt", "secrets/live"],
  ])("%s can be neither read nor written", (path, found) => {
    expect([rule(path, "read"), rule(path, "write")]).toEqual([found, found]);
  });

  test.each([
    [".husky/pre-commit", ".husky"],
    ["app/.vscode/tasks.json", ".vscode/tasks.json"],
    ["jobs.sh.d/x", "*.sh.d"],
  ])("%s can be read and not written", (path, found) => {
    expect([rule(path, "read"), rule(path, "write")]).toEqual([undefined, found]);
  });

  test.each([
    "git",
    ".gitignore",
    "env",
    "id_key",
    "key-private",
    "private-ke",
    "secrets",
    "secrets/dead",
    ".vscode",
    ".vscode/settings.json",
    ".env.example",
    ".husky/readme.md",
  ])("%s is free", (path) => expect(rule(path)).toBeUndefined());

  test.each([
    [".GIT", ".git"],
    [".gıt", ".git"],
    [".g\u200bit", ".git"],
    [".git.", ".git"],
    [".git . .", ".git"],
    [".git::$INDEX_ALLOCATION", ".git"],
    ["GIT~1", ".git"],
    ["git~12.x", ".git"],
    ["HUSKY~1", ".husky"],
    [".huſky", ".husky"],
    ["SECRET~1/LIVE", "secrets/live"],
    ["VSCODE~1/TASKS~1.JSO", ".vscode/tasks.json"],
    ["..", undefined],
    [":x", undefined],
  ])("%j is what some file system takes it for: %s", (path, found) => {
    expect(rule(path)).toBe(found);
  });

  test("an exception covers what lies in it, and no rule that begins above it", () => {
    const rules = {
      ...RULES,
      notAccessible: [...RULES.notAccessible, "vault"],
      allowed: [".env.example", "vault/open"],
    };
    const of = (path: string) => protectingRule(rules, path.split("/"), "read");
    expect([of("vault/shut"), of("vault/open/x"), of("vault/open/.git")]).toEqual([
      "vault",
      undefined,
      ".git",
    ]);
  });

  test("a short name is no exception: it does not tell which file it is", () => {
    const rules = { notAccessible: ["passwords.txt"], notWritable: [], allowed: ["passwords.md"] };
    expect(protectingRule(rules, ["PASSWO~1.MD"], "read")).toBe("passwords.txt");
  });

  test("names that are known to be free are not asked again, and rules of several names still meet", () => {
    expect(rule(".git/config", "read", 1)).toBeUndefined();
    expect(rule("secrets/live", "read", 1)).toBe("secrets/live");
  });

  test("nothing is protected where nothing is to be", () => {
    expect(protectingRule(NOTHING_PROTECTED, [".git", "config"], "write")).toBeUndefined();
  });

  test("what is protected unless an operator says otherwise", () => {
    const of = (path: string, access: Access) =>
      protectingRule(DEFAULT_PROTECTED_PATHS, path.split("/"), access);
    expect(of(".git/config", "read")).toBeDefined();
    expect(of(".bashrc", "write")).toBeDefined();
    expect(of("src/index.ts", "write")).toBeUndefined();
  });

  test.each([
    "docs/lefthook.md",
    "src/lefthook.ts",
    "docs/mise.md",
    "gradle.properties",
    ".yarn/versions/1.yml",
  ])("%s is not taken for what it is about", (path) => {
    expect(protectingRule(DEFAULT_PROTECTED_PATHS, path.split("/"), "write")).toBeUndefined();
  });

  // What holds for one program holds for others of its kind, and for its other files.
  test.each([
    [".hg/hgrc", ".git"],
    [".jj/repo/store/git/config", ".git"],
    [".dev.vars", ".env"],
    [".bundle/config", ".gem/credentials"],
    [".config/glab-cli/config.yml", ".config/gh"],
    ["shop-firebase-adminsdk-x1.json", "shop-service-account.json"],
    [".mcp-auth/mcp-remote-v1/x_tokens.json", ".config/gh"],
    [".psql_history", ".python_history"],
    ["lefthook.toml", "lefthook.yml"],
    [".lefthook-local.yaml", "lefthook.yml"],
    [".gitea/workflows/ci.yml", ".github/workflows/ci.yml"],
    [".woodpecker.yaml", ".woodpecker.yml"],
    [".dir-locals-2.el", ".dir-locals.el"],
    [".yarn/releases/yarn-4.cjs", ".yarnrc.yml"],
    ["mise.toml", ".bashrc"],
    ["mise.production.toml", ".bashrc"],
    [".config/mise/config.toml", ".bashrc"],
    [".Renviron", ".env"],
    [".iex.exs", ".irbrc"],
    [".opencode/plugin/x.js", ".claude/settings.json"],
  ])("%s is as closed as %s", (path, like) => {
    const of = (name: string, access: Access) =>
      protectingRule(DEFAULT_PROTECTED_PATHS, name.split("/"), access) !== undefined;
    expect([of(path, "read"), of(path, "write")]).toEqual([of(like, "read"), true]);
  });
});

test("docs/file-tools.md names each of them, and no other", () => {
  const page = readFileSync(new URL("../../../docs/file-tools.md", import.meta.url), "utf8");
  const rows = page.split("## Protected names")[1]?.split("What runs only when")[0] ?? "";
  const names = [...rows.matchAll(/^\| (.*?) \| /gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
  );
  const { notAccessible, notWritable, allowed } = DEFAULT_PROTECTED_PATHS;
  const ends = allowed.map((name) => name.replace(/^\.env(?=\.(?!example))/, "")); // `.env.example`, `.sample`, …
  expect(names.toSorted()).toEqual([...notAccessible, ...notWritable, ...ends].toSorted());
});

test("a folded name is the same for every spelling of it", () => {
  expect(foldName("É\u200b")).toBe(foldName("e\u0301"));
});

describe("a name below a directory of the host", () => {
  test.each([
    ["/home/me/secrets", ["live", "key.txt"], 0, "secrets/live"],
    ["C:\\me\\.vscode", ["tasks.json"], 0, ".vscode/tasks.json"],
    ["/home/me/secrets", ["old", "live"], 0, undefined],
    ["/home/me/.git/project", ["notes.md"], 0, undefined], // names above alone bar nothing
    ["/home/me/secrets", ["live", "key.txt"], 1, undefined], // known to be free
  ])("in %s, %j with %i known ones is barred by %s", (directory, names, checked, found) => {
    expect(protectingRulesIn(directory, RULES)(names, "write", checked)).toBe(found);
  });
});
