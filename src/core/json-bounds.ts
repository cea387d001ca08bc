/** How large a value from outside may be before it is looked at. */
export interface JsonBounds {
  readonly maxDepth: number;
  readonly maxValues: number;
}

/** A place in a value, and what is wrong there. */
export interface BoundsProblem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

interface Place {
  readonly value: object;
  readonly path: readonly PropertyKey[];
}

/**
 * What makes a value unfit to be parsed: nesting, numbers of values, keys named `__proto__`. Walks without recursion, so that
 * no depth of it is too much. Undefined where nothing is wrong.
 */
export function boundsProblem(
  value: unknown,
  { maxDepth, maxValues }: JsonBounds,
): BoundsProblem | undefined {
  const open: Place[] = typeof value === "object" && value !== null ? [{ value, path: [] }] : [];
  let values = open.length;
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { value: parent, path } = place;
    if (ArrayBuffer.isView(parent)) return { path, message: "bytes are no JSON" };
    if (path.length > maxDepth) {
      return { path: path.slice(0, 5), message: `is nested more than ${maxDepth} levels deep` };
    }
    for (const [key, child] of Object.entries(parent)) {
      values += 1;
      if (values > maxValues)
        return { path: path.slice(0, 5), message: `holds more than ${maxValues} values` };
      if (key === "__proto__") return { path, message: "a key named __proto__ is not allowed: remove it" };
      if (typeof child === "object" && child !== null) open.push({ value: child, path: [...path, key] });
    }
  }
  return undefined;
}
