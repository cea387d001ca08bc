import { describe, expect, test } from "vitest";
import {
  namesSecret,
  redactAbsolutePaths,
  redactPathsIn,
  redactSecrets,
} from "../../../src/core/prompt/redact.js";

describe("redactAbsolutePaths", () => {
  test.each([
    ["/home/x/y", "<path>"],
    ["/home/jürgen/Ünï/datei", "<path>"],
    ["see /home/x/y, then /srv/z/w", "see <path>, then <path>"],
    ["(/usr/lib/x)", "(<path>)"],
    ["cwd=/opt/x/y;", "cwd=<path>;"],
    ['"/var/lib/x"', '"<path>"'],
    ["PATH:/usr/bin:/bin/x", "PATH:<path>:<path>"],
    ["/etc", "<path>"],
    ["/root and /tmp.", "<path> and <path>."],
    ["C:\\Users\\x", "<path>"],
    ["C:/Users/x y", "<path> y"],
    ["\\\\host\\share\\x", "<path>"],
    ["file:///home/x", "<path>"],
    ["git@host:/srv/x/y", "git@host:<path>"],
  ])("%s becomes %s", (text, expected) => {
    expect(redactAbsolutePaths(text)).toBe(expected);
  });

  test.each([
    "and/or",
    "either/or/both",
    "1/2/3 of it",
    "2026/01/02",
    "@project/a/b",
    "@state/workflow.md",
    "https://x/y/z",
    "http://127.0.0.1:8080/v1/chat",
    "né/a/b",
    "./a/b",
    "../a/b",
    "~/a/b",
    "{project-root}/docs/a/b",
    "${HOME}/a/b",
    "%APPDATA%/a/b",
    "<root>/a/b",
    "#/definitions/x/y",
    "**/x/y",
    "</div>",
    "<br/>",
    "/help",
    "/homework",
    "a / b / c",
    "note: x",
  ])("%s is no path of the machine and stays", (text) => {
    expect(redactAbsolutePaths(text)).toBe(text);
  });

  test.each([
    ["slashes", "/"],
    ["short segments", "/a"],
    ["paths", "/a/b "],
    ["backslashes", "\\"],
    ["file URLs", "file:/"],
    ["drives", "C:\\"],
  ])("a megabyte of %s takes time in proportion to its length", (_, piece) => {
    const text = piece.repeat(1_000_000 / piece.length);
    expect(redactAbsolutePaths(text)).not.toBe("");
  });
});

describe("redactPathsIn", () => {
  test("redacts texts and keys at any depth, and keeps every other value", () => {
    expect(
      redactPathsIn({ a: ["/home/x/y", 1, null, true], "/srv/a/b": { c: "and/or" }, quote: 'C:\\x "y"' }),
    ).toEqual({ a: ["<path>", 1, null, true], "<path>": { c: "and/or" }, quote: '<path> "y"' });
  });

  test("a key named __proto__ stays a key", () => {
    const redacted = redactPathsIn(JSON.parse('{"__proto__": {"polluted": "/home/x/y"}}'));
    expect(JSON.stringify(redacted)).toBe('{"__proto__":{"polluted":"<path>"}}');
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("redactSecrets", () => {
  test.each([
    ["sk-abcdefghijklmnop", "<secret>"],
    ["key sk-proj-0123456789_abcdef.", "key <secret>."],
    ["ghp_0123456789abcdefghij", "<secret>"],
    ["github_pat_0123456789abcdefghij", "<secret>"],
    ["glpat-0123456789abcdef", "<secret>"],
    ["xoxb-0123456789-abcdef", "<secret>"],
    ["AKIA0123456789ABCDEF", "<secret>"],
    ["Incorrect API key: gsk_abcdefghij0123456789ABCD.", "Incorrect API key: <secret>."],
    ["xai-abcdefghij0123456789ABCD", "<secret>"],
    ["hf_abcdefghij0123456789ABCD", "<secret>"],
    ["pplx-abcdefghij0123456789ABCD", "<secret>"],
    ["nvapi-abcdefghij_0123456789-ABCD", "<secret>"],
    ["fw_abcdefghij0123456789", "<secret>"],
    ["csk-abcdefghij0123456789", "<secret>"],
    ["dapi0123456789abcdef0123456789abcdef", "<secret>"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "<secret>"],
    ["Authorization: Bearer abcdefghijkl", "Authorization: Bearer <secret>"],
    ["authorization: Basic dXNlcjpwYXNz", "authorization: Basic <secret>"],
    ["https://user:pa55@host/x", "https://<secret>@host/x"],
    ["OPENAI_API_KEY=abcd1234", "OPENAI_API_KEY=<secret>"],
    ["DB_PASSWORD: hunter22", "DB_PASSWORD: <secret>"],
    ["tokens: abcd1234, access_tokens=abcd1234", "tokens: <secret>, access_tokens=<secret>"],
    ["admin_tokens: hunter2secret", "admin_tokens: <secret>"],
    ["it has 2 tokens: hunter2secret", "it has 2 tokens: <secret>"],
    ["max access tokens: hunter2secret", "max access tokens: <secret>"],
    ["cached_api_tokens=hunter2secret", "cached_api_tokens=<secret>"],
    ['{"password":"two words"}', '{"password":<secret>}'],
    ['{\\"token\\":\\"two words\\"}', '{\\"token\\":<secret>}'],
    ["client_secret='a b c'", "client_secret=<secret>"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest", "<secret>\nrest"],
    ["-----BEGIN PRIVATE KEY-----\nMIIE that was cut", "<secret>"],
  ])("%j becomes %j", (text, expected) => {
    expect(redactSecrets(text)).toBe(expected);
  });

  test.each([
    "skeleton_of_the_story_x",
    "hf_hub_download_with_retries_2",
    "fw_configurationsettingsofallplaces",
    "pkg-install-directory",
    "risk-management-committee",
    "the token economy",
    "tokens used: 12",
    "a total of 40000 tokens: 36000 tokens from the messages; too many tokens: size limit exceeded",
    "body.max_completion_tokens: Extra inputs are not permitted",
    "Invalid type for 'max_tokens': expected an integer",
    "maximum number of tokens: 131072, max_new_tokens: must be less, maxOutputTokens: wrong type",
    "Max input tokens: 131072, request input token count: 150000",
    '{"total_tokens": 12345, "maxTokens": 4096}',
    "a basic understanding of things",
    "https://host:8080/x",
    "mail user@host.example",
    "password",
  ])("%s stays", (text) => {
    expect(redactSecrets(text)).toBe(text);
  });

  test.each([
    "eyJ",
    "eyJaaaaaaaa.",
    "eyJaaaaaaaa-",
    "nvapi-",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN ",
    "token",
    "token : ",
    'token="',
    "x://a:",
    "bearer ",
    "sk-",
    "a",
  ])("a megabyte of %j takes time in proportion to its length", (piece) => {
    const text = piece.repeat(1_000_000 / piece.length);
    expect(redactSecrets(text)).not.toBe("");
  });
});

describe("namesSecret", () => {
  test.each([
    "password",
    "apiKey",
    "API_KEY",
    "clientSecret",
    "access_token",
    "Authorization",
    "private-key",
  ])("%s", (key) => expect(namesSecret(key)).toBe(true));
  test.each(["path", "author", "key", "content", "pass"])("not %s", (key) => {
    expect(namesSecret(key)).toBe(false);
  });
});
