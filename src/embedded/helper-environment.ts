import { userInfo } from "node:os";
import { delimiter, isAbsolute } from "node:path";
import { homeDirectory } from "../store/disk/home-directory.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where a helper process runs that needs no directory: nothing in it is somebody else's. */
export const NO_DIRECTORY = "/";

const FETCH_NAMES: ReadonlySet<string> = new Set([
  "HOME",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TMPDIR",
  "XDG_CACHE_HOME",
  "XDG_CONFIG_DIRS",
  "XDG_CONFIG_HOME",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "ALL_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "all_proxy",
  "no_proxy",
  "CURL_CA_BUNDLE",
  "REQUESTS_CA_BUNDLE",
  "SSL_CERT_DIR",
  "SSL_CERT_FILE",
]);

/**
 * What a fetch gets of the user's environment: how to reach their mirror, and nothing else; no key among it. Of the PATH only
 * what does not depend on the directory that somebody happens to be in.
 */
export function fetchEnvironment(environment: Environment): Readonly<Record<string, string>> {
  const entries = Object.entries(environment).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && (FETCH_NAMES.has(entry[0]) || entry[0].startsWith("PIP_")),
  );
  const home = homeDirectory();
  return {
    ...(home === undefined ? {} : { HOME: home }),
    ...Object.fromEntries(entries),
    PATH: absoluteDirectories(environment["PATH"] ?? "").join(delimiter) || "/usr/local/bin:/usr/bin:/bin",
  };
}

/** The directories of a PATH; an empty or a relative entry would mean the directory that somebody happens to be in. */
export function absoluteDirectories(pathVariable: string): readonly string[] {
  return pathVariable.split(delimiter).filter((directory) => isAbsolute(directory));
}

/**
 * The environment of a Temporal process: nothing of ours. The server outlives us and has no business with our
 * secrets, and a `TEMPORAL_*` variable meant for another server must not reach a command meant for this one.
 * The server does not start for a user that the machine does not know, unless both are named.
 */
export function temporalEnvironment(): Readonly<Record<string, string>> {
  return { HOME: homeDirectory() ?? NO_DIRECTORY, ...(isKnownUser() ? {} : { USER: "interlock" }) };
}

function isKnownUser(): boolean {
  try {
    return userInfo().username !== "";
  } catch {
    return false;
  }
}
