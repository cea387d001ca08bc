/** Paths of a machine, in either spelling: `/home/x/y`, `C:\x\y`, `C:/x`, `\\host\share`, `file:///x`. */
const ABSOLUTE_PATH =
  /(?:file:\/\/\/?[^\s"'<>|,;)\]}]*|(?<![\w.@/:*~-])\/(?:[\w.@+~-]+\/)+[\w.@+~-]*|(?<![\w/])[A-Za-z]:[\\/][^\s"'<>|,;)\]}]*|\\\\[\w.$-]+\\[^\s"'<>|,;)\]}]*)/g;

/** Replaces absolute paths by `<path>`: a model works with mounts and never learns where they lie. */
export function redactAbsolutePaths(text: string): string {
  return text.replace(ABSOLUTE_PATH, "<path>");
}

/** Tokens and keys by their usual shapes: provider prefixes, bearer headers, private keys, `secret=value`. */
const SECRET =
  /\b(?:sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|xox[abprs]|AKIA|ASIA|AIza)[-_]?[A-Za-z0-9_-]{12,}|\bBearer\s+[\w.~+/-]{8,}=*|-----BEGIN [A-Z ]*PRIVATE KEY-----|\b((?:api[_-]?key|secret|token|password|passwd|pwd)["']?\s*[:=]\s*["']?)[^\s"',;]{4,}/gi;

/** Replaces what looks like a secret by `<secret>`, for logs and previews. */
export function redactSecrets(text: string): string {
  return text.replace(SECRET, (_match, label: string | undefined) => `${label ?? ""}<secret>`);
}
