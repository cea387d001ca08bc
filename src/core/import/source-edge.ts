/** A way from one step file to another, as the source says it. */
export interface SourceEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly condition?: string;
  readonly isDefault: boolean;
}

/** Of two lines that say the same way: a menu's letter over any other words, the default if one says so. */
export function better(known: SourceEdge, other: Omit<SourceEdge, "from" | "to">): SourceEdge {
  const isLetter = (label: string): boolean => label.length === 1;
  const isPlain =
    (known.label === "next" && other.label !== "next") || (!isLetter(known.label) && isLetter(other.label));
  const condition = known.condition ?? other.condition;
  return {
    from: known.from,
    to: known.to,
    label: isPlain ? other.label : known.label,
    ...(condition === undefined ? {} : { condition }),
    isDefault: known.isDefault || other.isDefault,
  };
}
