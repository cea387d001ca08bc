import { type JsonValue, isList } from "../json.js";

/**
 * Paths of a machine: `/home/x/y`, `C:\x\y`, `C:/x`, `\\host\share`, `file:///x`, and the roots that people name
 * alone. A slash after a name, a mount, a variable (`{root}/x`), a fragment or another slash begins none: `and/or`,
 * `@project/a/b` and `https://x/y` stay.
 */
const SEGMENT = "[^\\s\"'`<>|,;:()[\\]{}\\\\/]+";
const ABSOLUTE_PATH = new RegExp(
  [
    "file:/{1,3}[^\\s\"'`<>|,;)\\]}]*",
    `(?<![\\p{L}\\p{N}_.@/*~#%})\\]>-])/(?:(?:${SEGMENT}/)+(?:${SEGMENT})?|(?:dev|etc|home|mnt|opt|private|proc|root|srv|sys|tmp|usr|var|Users|Volumes)(?![\\p{L}\\p{N}_-]))`,
    "(?<![\\p{L}\\p{N}_/])[A-Za-z]:[\\\\/][^\\s\"'`<>|,;)\\]}]*",
    "\\\\\\\\[\\p{L}\\p{N}_.$-]+\\\\[^\\s\"'`<>|,;)\\]}]*",
  ].join("|"),
  "gu",
);

/** Replaces absolute paths by `<path>`: a model works with mounts and never learns where they lie. */
export function redactAbsolutePaths(text: string): string {
  return text.replace(ABSOLUTE_PATH, "<path>");
}

/** The same value with absolute paths redacted in every text and key. It is nested at most 100 deep. */
export function redactPathsIn(value: JsonValue): JsonValue {
  if (typeof value === "string") return redactAbsolutePaths(value);
  if (value === null || typeof value !== "object") return value;
  if (isList(value)) return value.map(redactPathsIn);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [redactAbsolutePaths(key), redactPathsIn(item)]),
  );
}

/**
 * Tokens and keys by the shapes that providers give them. Each is bounded by its surroundings, not by length; what may begin again within
 * itself and has to be looked at to an end that may be missing has a bound.
 */
const SECRET_SHAPES =
  /\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{12,}|\b(?:gh[opsu]|github_pat|glpat|xox[abprs]|npm)[-_][A-Za-z0-9_-]{12,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\bAIza[A-Za-z0-9_-]{20,}|\b(?:gsk|hf|fw|r8|xai|pplx|csk)[-_](?=[A-Za-z]*\d)[A-Za-z0-9]{20,}|\b(?:nvapi|tgp_v1)[-_](?=[A-Za-z_-]{0,64}\d)[A-Za-z0-9_-]{20,}|\bwhsec_[A-Za-z0-9+/]{20,}={0,2}|\bdapi[0-9a-f]{32}\b|\beyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g;

/** What is counted in tokens, and what may stand between it and them. */
const COUNTED =
  "(?:max(?:imum)?|min(?:imum)?|input|output|prompt|completion|total|thinking|reasoning|budget|cached?|context|requested)";
const COUNTED_MORE = `(?:${COUNTED}|new|number|of|read|write|creation|window|length)`;

/** What stands before tokens that are counted, from the beginning of a word: `max_tokens: …` is no secret, `admin_tokens: …` is one. */
const BEFORE_COUNT = String.raw`(?<![a-z])${COUNTED}[\s_-]?(?:${COUNTED_MORE}[\s_-]?){0,3}`;

/** What is called a secret, in a header, a URL, an assignment or a JSON text: the name stays, the value goes. */
const NAMED_SECRET = new RegExp(
  [
    String.raw`(\bBearer\s{1,5}|\bauthorization\\?["']?\s{0,5}[:=]\s{0,5}\\?["']?(?:Bearer|Basic)?\s{0,5})[\w.~+/-]{8,}=*`,
    String.raw`(\b[a-z][a-z0-9+.-]{0,20}://)[^\s/:@]{0,200}:[^\s/@]{1,200}(?=@)`,
    String.raw`((?:api[_-]?key|secret|token(?!s)|(?<!${BEFORE_COUNT}|\d{3} |\bmany )tokens|passw(?:or)?d|passphrase|pwd|credential)s?\\?["']?\s{0,5}[:=]\s{0,5})(?:\\?"[^"]{1,500}"?|'[^']{1,500}'?|[^\s"',;]{4,})`,
  ].join("|"),
  "gi",
);

/** Replaces what looks like a secret by `<secret>`, for logs and previews. */
export function redactSecrets(text: string): string {
  return text
    .replace(SECRET_SHAPES, "<secret>")
    .replace(
      NAMED_SECRET,
      (_match, scheme?: string, url?: string, label?: string) => `${scheme ?? url ?? label ?? ""}<secret>`,
    );
}

/** Whether a key says that its value is a secret. */
export function namesSecret(key: string): boolean {
  return /api[_-]?key|secret|token|passw(?:or)?d|passphrase|pwd|credential|authorization|private[_-]?key/i.test(
    key,
  );
}
