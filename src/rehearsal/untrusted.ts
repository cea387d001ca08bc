/** The own properties of an object as a map: names from packages never become keys of a plain object. */
export function toMap(value: unknown): ReadonlyMap<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? new Map<string, unknown>(Object.entries(value))
    : new Map<string, unknown>();
}
