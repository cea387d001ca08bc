/** Names in `@project` that the tools keep away from, at any depth (contracts §7). `*` stands for any text. */
export interface ProtectedPaths {
  /** Neither the entry nor anything below it can be written. */
  readonly notWritable: readonly string[];
  /** Neither the entry nor anything below it can be read, listed, searched or written. */
  readonly notAccessible: readonly string[];
  /** Exceptions from both. */
  readonly allowed: readonly string[];
}

export const DEFAULT_PROTECTED_PATHS: ProtectedPaths = {
  notWritable: [".git"],
  notAccessible: [".env", ".env.*"],
  allowed: [".env.example"],
};

export const NOTHING_PROTECTED: ProtectedPaths = { notWritable: [], notAccessible: [], allowed: [] };

export type Access = "read" | "write";

/** The protected name that forbids this access, as it stands in the setting; undefined when none does. */
export function protectingRule(rules: ProtectedPaths, name: string, access: Access): string | undefined {
  const folded = foldName(name);
  const matches = (pattern: string) => matchesPattern(foldName(pattern), folded);
  if (rules.allowed.some(matches)) return undefined;
  const hidden = rules.notAccessible.find(matches);
  if (hidden !== undefined || access === "read") return hidden;
  return rules.notWritable.find(matches);
}

/**
 * What a case-insensitive file system could take a name for: without case, without composition and without
 * the code points that such systems ignore. A name that merely looks protected is refused as well; nobody
 * needs a `.ENV` that differs from `.env`.
 */
export function foldName(name: string): string {
  return name
    .normalize("NFD")
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "")
    .toLowerCase();
}

/** Wildcard match in linear space and at most quadratic time over one file name (255 bytes). */
function matchesPattern(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first)) return false;
  let position = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, position);
    if (found === -1) return false;
    position = found + part.length;
  }
  return name.length - last.length >= position && name.endsWith(last);
}
