/** Of commands that answer programs. */
export const JSON_OPTION = ["--json", "print JSON for programs"] as const;

export interface JsonChoice {
  readonly json?: boolean;
}

/** Of an option that may be given several times. */
export function eachTime(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
