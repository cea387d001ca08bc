import { describe } from "vitest";
import { type Case, runCases, sharedWorld } from "./cases.js";

const SANDBOX = "E_SANDBOX_VIOLATION";
const ARGS = "TOOL_ARGS_INVALID";

const TOOLS = ["fs.list", "fs.read", "fs.search", "fs.write", "fs.apply_patch"] as const;

const patch = { operation: "updateFrontmatter", update: { variables: { set: { planted: 1 } } } };

function argumentsOf(tool: string, path: string): object {
  switch (tool) {
    case "fs.search":
      return { path, pattern: "needle" };
    case "fs.write":
      return { path, content: "PLANTED\n" };
    case "fs.apply_patch":
      return { path, patch };
    default:
      return { path };
  }
}

/** What each tool makes of a path, in the order of `TOOLS`; a write that succeeds changes the path given with it. */
type Row = readonly [
  path: string,
  list: string,
  read: string,
  search: string,
  write: string,
  patch: string,
  ...changes: readonly string[],
];

function toCases(rows: readonly Row[]): Case[] {
  return rows.flatMap(([path, list, read, search, write, patched, ...changes]) =>
    [list, read, search, write, patched].map((outcome, index) => {
      const tool = TOOLS[index] ?? "fs.read";
      const writes = outcome === "ok" && index > 2;
      return {
        name: `${tool} ${JSON.stringify(path).slice(0, 80)} → ${outcome}`,
        tool,
        args: argumentsOf(tool, path),
        expect: outcome,
        changes: writes ? changes : [],
      };
    }),
  );
}

/** Refused by every tool. */
const never = (path: string): Row => [path, SANDBOX, SANDBOX, SANDBOX, SANDBOX, SANDBOX];
const malformed = (path: string): Row => [path, ARGS, ARGS, ARGS, ARGS, ARGS];
/** An ordinary file that is there. */
const file = (path: string, place = `project/${path.replace("@project/", "")}`): Row => [
  path,
  ARGS,
  "ok",
  "ok",
  "ok",
  ARGS,
  place,
];
/** A name that a list could not show as it is: nothing new gets it. */
const unseen = (name: string): Row =>
  missing(`@project/${name}`).with(4, SANDBOX).with(5, SANDBOX) as unknown as Row;
/** An ordinary name that nothing has yet. */
const missing = (path: string, ...made: readonly string[]): Row => [
  path,
  "ENOENT",
  "ENOENT",
  "ENOENT",
  "ok",
  ARGS,
  ...made,
];
const directory = (path: string): Row => [path, "ok", ARGS, "ok", ARGS, ARGS];

const world = sharedWorld();

describe("no mount at all", () => {
  const hostile = [
    "",
    " ",
    "/",
    "//",
    ".",
    "..",
    "../outside/secret.txt",
    "../../../../../../etc/passwd",
    "/etc/passwd",
    "/etc/shadow",
    "/proc/self/environ",
    "/proc/self/cwd/package.json",
    "/dev/stdin",
    "/dev/zero",
    "~",
    "~/.ssh/id_rsa",
    "~root",
    "$HOME/x",
    "C:\\Windows\\System32\\config\\SAM",
    "C:/Windows/win.ini",
    "c:",
    "\\\\server\\share\\x",
    "\\\\?\\C:\\x",
    "//server/share/x",
    "file:///etc/passwd",
    "http://169.254.169.254/latest/meta-data",
    "data:text/plain,x",
    "README.md",
    "project/README.md",
    "@",
    "@/",
    "@@project/README.md",
    "@Project/README.md",
    "@PROJECT/README.md",
    "@projec",
    "@projects/README.md",
    "@project2/x",
    "@project-2/secret.txt",
    "@project.md",
    "@project ",
    " @project/README.md",
    "\t@project/README.md",
    "\n@project/README.md",
    "\ufeff@project/README.md",
    "\u200b@project/README.md",
    "@\u200bproject/README.md",
    "＠project/README.md",
    "@ｐroject/README.md",
    "@project\\README.md",
    "@project\\..\\outside\\secret.txt",
    "@project:README.md",
    "@project%2fREADME.md",
    "%40project/README.md",
    "@project\u2215README.md",
    "@project\uff0fREADME.md",
    "@package/bmad.json",
    "@store/store.json",
    "@run/calls.jsonl",
    "@root/etc/passwd",
    "@pkgs/x",
    "@statex/workflow.md",
    "@state.",
    "@constructor/x",
    "@__proto__/x",
    "@toString",
    "{project-root}/README.md",
    "${project}/README.md",
    "\0",
    "\0@project/README.md",
    "@project\0/README.md",
    "@pro\u0301ject/x",
    "./@project/README.md",
    "/@project/README.md",
    "x/../@project/README.md",
  ];
  runCases(world, toCases(hostile.map(never)));
});

describe("a way out of the mount", () => {
  const hostile = [
    "@project/..",
    "@project/../",
    "@project/../outside/secret.txt",
    "@project/../project/README.md",
    "@project/src/..",
    "@project/src/../README.md",
    "@project/src/../../outside/secret.txt",
    "@project/./../outside/secret.txt",
    "@project//../outside/secret.txt",
    "@project/nowhere/../../outside/secret.txt",
    "@project/../../../../../../../../etc/passwd",
    "@project/../.git/config",
    "@project/\0",
    "@project/README.md\0",
    "@project/README.md\0.txt",
    "@project/\0/../../outside",
    "@state/..",
    "@state/../calls.jsonl",
    "@state/../state/workflow.md",
    "@state/../../runs.jsonl",
    "@state/logs/../workflow.md",
    "@state/logs/../../calls.jsonl",
    "@pkg/..",
    "@pkg/../../store.json",
    "@pkg/steps/../bmad.json",
    "@project/../state/workflow.md",
  ];
  runCases(world, toCases(hostile.map(never)));
});

describe("a link out of the mount", () => {
  const hostile = [
    "out-file",
    "out-file/x",
    "out-dir",
    "out-dir/secret.txt",
    "out-dir/new.txt",
    "out-dir/dir/deep/new.txt",
    "out-new",
    "out-abs",
    "out-abs-dir/secret.txt",
    "out-sibling/secret.txt",
    "out-twist",
    "to-root",
    "to-root/etc/passwd",
    "to-tmp",
    "to-environ",
    "to-cwd/package.json",
    "to-fd/0",
    "to-null",
    "to-zero",
    "to-store",
    "to-store/store.json",
    "to-packages",
    "parent",
    "parent/outside/secret.txt",
    "chain-1",
    "chain-1/secret.txt",
    "src/chain-3/secret.txt",
    "up-and-back",
    "loop-a",
    "loop-b/x",
    "loop-self",
    "in-dir/chain-3",
  ];
  runCases(world, toCases(hostile.map((path) => never(`@project/${path}`))));
});

describe("what is neither a file nor a directory", () => {
  runCases(
    world,
    toCases(["fifo", "src/fifo", "fifo/x", "in-dir/fifo"].map((path) => never(`@project/${path}`))),
  );
});

describe("protected names", () => {
  const secret = [
    ".env",
    ".env.local",
    ".env.production",
    ".env.",
    ".ENV",
    ".Env.Local",
    ".e\u200bnv",
    ".env\u00ad",
    "sub/.env",
    "sub/.ENV.Production",
    "sub/./.env",
    "sub//.env",
    "nowhere/.env",
    ".env/inside.txt",
    ".env.d/inside.txt",
    ".env.example.local",
    "to-env",
    "to-sub-env",
    "in-self/.env",
    "in-self/in-self/sub/.env",
    ".envrc",
    ".env ",
    ".env. .",
    ".env::$DATA",
    "ENV~1",
    "src/.env-local",
    ".git",
    ".git/config",
    ".git/hooks/post-checkout",
    ".git/new/dir/file",
    ".GIT/config",
    ".git /config",
    ".git./config",
    "git~1/config",
    "GIT~1/hooks/pre-commit",
    ".g\u200cit/config",
    "src/.git",
    "src/.git/config",
    "to-git/config",
    "to-git",
    ".netrc",
    ".npmrc",
    "src/.NPMRC",
    ".\u017fsh/config",
    ".aws/credentials",
    ".docker/config.json",
    "sub/.docker/config.json",
    "id_rsa",
    "id_ed25519.pub",
    "src/server.key",
    "certs/tls.PEM",
    "infra/prod.tfvars",
    "infra/terraform.tfstate.backup",
    "keys/my-service-account-1.json",
    ".hg/hgrc",
    "src/.jj/repo",
    ".dev.vars",
    ".bundle/config",
  ].map((path) => never(`@project/${path}`));
  const readOnly = [
    ".bashrc",
    "src/.profile",
    ".vscode/tasks.json",
    ".VSCode/Settings.json",
    "sub/.vscode/tasks.json.",
    "vscode~1/tasks.json",
    ".idea/workspace.xml",
    ".husky/pre-commit",
    ".github/workflows/ci.yml",
    "src/.github/workflows/ci.yml",
    ".gitlab-ci.yml",
    ".gitattributes",
    ".gitmodules",
    ".devcontainer/devcontainer.json",
    ".claude/settings.json",
    ".cursor/mcp.json",
    "src/sitecustomize.py",
    "lefthook.toml",
    ".lefthook-local.yml",
    ".gitea/workflows/ci.yml",
    ".woodpecker.yaml",
    ".yarn/releases/yarn-4.cjs",
    "src/.dir-locals-2.el",
    ".opencode/plugin/x.js",
  ].map((path): Row => [`@project/${path}`, "ENOENT", "ENOENT", "ENOENT", SANDBOX, SANDBOX]);
  const ordinary: readonly Row[] = [
    file("@project/.env.example"),
    file("@project/.gitignore"),
    missing("@project/env", "project/env"),
    missing("@project/.environment", "project/.environment"),
    missing("@project/my.env", "project/my.env"),
    missing("@project/.github/x.yml", "project/.github", "project/.github/x.yml"),
    missing("@project/x.git", "project/x.git"),
    missing("@project/.vscode/extensions.json", "project/.vscode", "project/.vscode/extensions.json"),
    missing("@project/tasks.json", "project/tasks.json"),
    missing("@project/.dev.vars.example", "project/.dev.vars.example"),
    missing("@project/.kiro/specs/x.md", "project/.kiro", "project/.kiro/specs", "project/.kiro/specs/x.md"),
    missing("@project/package.json", "project/package.json"),
    missing("@project/Makefile", "project/Makefile"),
    missing("@project/keyboard.md", "project/keyboard.md"),
    missing("@project/service.json", "project/service.json"),
  ];
  runCases(world, toCases([...secret, ...readOnly, ...ordinary]));
});

describe("names taken as they are", () => {
  const names = [
    "README.md",
    "./README.md",
    "/README.md",
    "///README.md",
    "README.md/",
    "README.md/.",
    "%2e%2e",
    "..%2foutside",
    "~",
    "...",
    ".. ",
    " lead",
    "trail ",
    "trail",
    "*",
    "$HOME",
    "${HOME}",
    "-rf",
    "back\\slash",
    "..\\outside",
    "C:",
    "a:b",
    "tab\tname",
    "new\nline",
    "quo\"te'`",
    "@project",
    "é.txt",
    "e\u0301.txt",
    "ﬁle.txt",
    "ｎotes.txt",
    "\u200bnotes.txt",
    "rtl\u202etxt.md",
    "😀.txt",
    ".hidden.txt",
    ".hidden/inner.txt",
    "src/deep/er/file.txt",
    "src/./deep//er/./file.txt",
    "node_modules/dep/index.js",
  ];
  const clean = (name: string) =>
    name
      .split("/")
      .filter((part) => part !== "" && part !== ".")
      .join("/");
  runCases(world, toCases(names.map((name) => file(`@project/${name}`, `project/${clean(name)}`))));
});

describe("names that nothing has", () => {
  const rows = [
    missing("@project/new.txt", "project/new.txt"),
    missing("@project/Readme.md", "project/Readme.md"),
    missing("@project/readme.md ", "project/readme.md "),
    missing("@project/notes.txt.", "project/notes.txt."),
    missing("@project/%2e%2e%2f", "project/%2e%2e%2f"),
    missing("@project/....", "project/...."),
    missing("@project/.. /new", "project/.. /new").with(4, ARGS) as unknown as Row,
    missing("@project/a/b/c/d.txt", "project/a", "project/a/b", "project/a/b/c", "project/a/b/c/d.txt"),
    missing("@project/empty-dir/x", "project/empty-dir/x"),
    missing("@project/dangling", "project/nowhere.txt"),
    missing("@project/dangling-deep", "project/nowhere", "project/nowhere/at", "project/nowhere/at/all.txt"),
    missing("@project/etc/passwd", "project/etc", "project/etc/passwd"),
    missing("@project/@state/workflow.md", "project/@state", "project/@state/workflow.md"),
    missing("@project/..a", "project/..a"),
    missing("@project/a..", "project/a.."),
    missing("@project/a../b", "project/a..", "project/a../b"),
    missing("@project/CON", "project/CON"),
    missing("@project/nul.txt", "project/nul.txt"),
    ...["x\u0001y", "x\u2028y", "x\u0085y", "x\u202ey", "\u200bx", "x\ufeff", "a\nb/c", "\u{e0041}"].map(
      unseen,
    ),
    missing("@project/__proto__", "project/__proto__"),
    missing("@project/constructor/prototype", "project/constructor", "project/constructor/prototype"),
    missing(`@project/${"n".repeat(255)}`, `project/${"n".repeat(255)}`),
    missing(`@project/${"é".repeat(127)}`, `project/${"é".repeat(127)}`),
    missing("@state/notes.md", "state/notes.md"),
    missing("@state/deep/er/notes.md", "state/deep", "state/deep/er", "state/deep/er/notes.md"),
    missing("@state/Workflow.md", "state/Workflow.md"),
    missing("@state/workflow.md ", "state/workflow.md "),
    missing("@state/.hidden", "state/.hidden"),
    missing("@state/.env", "state/.env"),
    missing("@state/workflow.mdx", "state/workflow.mdx"),
    missing("@state/logs2/x", "state/logs2", "state/logs2/x"),
    missing("@state/execution.jsonl", "state/execution.jsonl"),
  ];
  runCases(world, toCases(rows));
});

describe("names that no file system holds", () => {
  const rows = [
    malformed(`@project/${"n".repeat(256)}`),
    malformed(`@project/${"é".repeat(128)}`),
    malformed(`@project/${"x/".repeat(300)}y`),
    malformed(`@project/${"long/".repeat(1000)}y`),
    malformed(`@project/${"n".repeat(100_000)}`),
    malformed("@project/half\ud800"),
    malformed("@project/\udc00half"),
    malformed(`@pkg/${"n".repeat(256)}`),
    malformed(`@state/${"n".repeat(256)}`),
  ];
  runCases(world, toCases(rows));
});

describe("links that stay inside the project", () => {
  const rows = [
    file("@project/in-file", "project/notes.txt"),
    file("@project/in-up", "project/notes.txt"),
    file("@project/in-dir/main.ts", "project/src/main.ts"),
    file("@project/in-abs/main.ts", "project/src/main.ts"),
    file("@project/in-self/notes.txt", "project/notes.txt"),
    file("@project/in-self/in-self/in-dir/deep/er/file.txt", "project/src/deep/er/file.txt"),
    file("@project/artifacts/to-src/main.ts", "project/src/main.ts"),
    directory("@project/in-dir"),
    directory("@project/in-abs"),
    directory("@project/in-self"),
    directory("@project/in-artifacts"),
    missing("@project/in-dir/new.txt", "project/src/new.txt"),
    missing("@project/artifacts/to-src/new.txt", "project/src/new.txt", "state/workflow.md"),
    missing("@project/in-artifacts/new.md", "project/artifacts/new.md", "state/workflow.md"),
    missing("@project/in-new", "project/artifacts/through-link.md", "state/workflow.md"),
  ];
  runCases(world, toCases(rows));
});

describe("the mounts themselves", () => {
  const readOnly = (path: string, ...row: readonly [string, string, string]): Row => [
    path,
    ...row,
    SANDBOX,
    SANDBOX,
  ];
  const rows: readonly Row[] = [
    directory("@project"),
    directory("@project/"),
    directory("@project/."),
    directory("@project//"),
    directory("@project/src"),
    directory("@project/src/"),
    directory("@project/empty-dir"),
    directory("@project/.hidden"),
    directory("@state"),
    directory("@state/"),
    readOnly("@pkg", "ok", ARGS, "ok"),
    readOnly("@pkg/", "ok", ARGS, "ok"),
    readOnly("@pkg/steps", "ok", ARGS, "ok"),
    readOnly("@pkg/bmad.json", ARGS, "ok", "ok"),
    readOnly("@pkg/./bmad.json", ARGS, "ok", "ok"),
    readOnly("@pkg/.hidden.txt", ARGS, "ok", "ok"),
    readOnly("@pkg/assets/template.txt", ARGS, "ok", "ok"),
    readOnly("@pkg/new.txt", "ENOENT", "ENOENT", "ENOENT"),
    readOnly("@pkg/new/dir/file.txt", "ENOENT", "ENOENT", "ENOENT"),
    readOnly("@pkg/BMAD.json", "ENOENT", "ENOENT", "ENOENT"),
    readOnly("@pkg/workflow.md", ARGS, "ok", "ok"),
    readOnly("@pkg/bmad.json/x", "ENOENT", "ENOENT", "ENOENT"),
    readOnly("@state/logs", "ok", ARGS, "ok"),
    readOnly("@state/logs/", "ok", ARGS, "ok"),
    readOnly("@state/logs/execution.jsonl", ARGS, "ok", "ok"),
    readOnly("@state/./logs/execution.jsonl", ARGS, "ok", "ok"),
    readOnly("@state//logs//execution.jsonl", ARGS, "ok", "ok"),
    readOnly("@state/logs/new.txt", "ENOENT", "ENOENT", "ENOENT"),
    readOnly("@state/logs/new/dir/x", "ENOENT", "ENOENT", "ENOENT"),
    readOnly("@state/workflow.md/x", "ENOENT", "ENOENT", "ENOENT"),
  ];
  runCases(world, toCases(rows));
});

describe("a file where a directory is meant", () => {
  const rows: readonly Row[] = [
    ["@project/README.md/x", "ENOENT", "ENOENT", "ENOENT", ARGS, ARGS],
    ["@project/README.md/x/y", "ENOENT", "ENOENT", "ENOENT", ARGS, ARGS],
    ["@project/in-file/x", "ENOENT", "ENOENT", "ENOENT", ARGS, ARGS],
  ];
  runCases(world, toCases(rows));
});

describe("the state document by any spelling", () => {
  const spellings = [
    "@state/workflow.md",
    "@state/./workflow.md",
    "@state//workflow.md",
    "@state/././/workflow.md",
    "@state/workflow.md/",
    "@state/workflow.md/.",
  ];
  const rows = spellings.map((path): Row => [
    path,
    ARGS,
    "ok",
    "ok",
    "E_INVALID_FRONTMATTER",
    "ok",
    "state/workflow.md",
  ]);
  runCases(world, toCases(rows));
});

describe("the audit log shows no path that the model did not name", () => {
  const cases: Case[] = [
    "@project/out-file",
    "@project/fifo",
    "@pkg/x",
    "@state/logs/x",
    "@project/loop-a",
  ].map((path) => ({
    name: `after ${path}`,
    tool: "fs.write",
    args: { path, content: "x" },
    expect: SANDBOX,
    verify: (seen, { base }) => {
      if (JSON.stringify(seen.auditLine).includes(base)) throw new Error("a host path in the log");
    },
  }));
  runCases(world, cases);
});
