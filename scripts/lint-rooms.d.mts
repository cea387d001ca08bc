export function roomOf(file: string): string | undefined;
export function lintRules(): unknown;
