import { isAbsolute, join } from "node:path";

/** Where the platform keeps what an application has; undefined where nobody says where that is. */
export interface PlatformDirectories {
  readonly data: string | undefined;
  readonly cache: string | undefined;
}

const NAME = "interlock";

/** Pure. A path that is not absolute counts as unset: it would be another place in each directory that somebody is in. */
export function platformDirectories(
  environment: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform,
  home: string | undefined,
): PlatformDirectories {
  const below = (variable: string, ...inHome: readonly string[]): string | undefined => {
    const said = environment[variable];
    if (said !== undefined && isAbsolute(said)) return said;
    return home === undefined ? undefined : join(home, ...inHome);
  };
  const of = (place: string | undefined, ...names: readonly string[]): string | undefined =>
    place === undefined ? undefined : join(place, ...names);
  switch (platform) {
    case "darwin": {
      const library = of(home, "Library");
      return { data: of(library, "Application Support", NAME), cache: of(library, "Caches", NAME) };
    }
    case "win32": {
      const local = below("LOCALAPPDATA", "AppData", "Local");
      return { data: of(local, NAME, "Data"), cache: of(local, NAME, "Cache") };
    }
    default:
      return {
        data: of(below("XDG_DATA_HOME", ".local", "share"), NAME),
        cache: of(below("XDG_CACHE_HOME", ".cache"), NAME),
      };
  }
}
