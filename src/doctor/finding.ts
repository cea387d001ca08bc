import { systemCode, systemWords } from "../core/system-code.js";
import { within } from "../within.js";

/** What one check has found. */
export interface Finding {
  readonly name: string;
  /** `failed`: a run would fail by it. `skipped`: it could not be looked at, or need not be. */
  readonly status: "ok" | "warning" | "failed" | "skipped";
  /** A sentence or a value, for people. Holds no key. */
  readonly found: string;
  /** What to do, where something is to be done. */
  readonly remedy?: string;
}

/** What any check may take, in milliseconds. */
export const CHECK_MS = 5_000;
/** What a check is given in all: what it waits for ends sooner and says more, also on a busy machine. */
const LONGEST_MS = 2 * CHECK_MS;

export const passed = (name: string, found: string): Finding => ({ name, status: "ok", found });
export const skipped = (name: string, found: string): Finding => ({ name, status: "skipped", found });
export const warning = (name: string, found: string, remedy: string): Finding => {
  return { name, status: "warning", found, remedy };
};
export const failed = (name: string, found: string, remedy: string): Finding => {
  return { name, status: "failed", found, remedy };
};

/** The findings of a check, or that it did not end in time or could not be made. */
export async function bounded(
  name: string,
  check: () => Promise<readonly Finding[]>,
  limitMs = LONGEST_MS,
): Promise<readonly Finding[]> {
  try {
    const late = "Look at what does not answer there: a disk, a network or a process that hangs.";
    const findings = await within(limitMs, check());
    return findings ?? [failed(name, `did not end within ${limitMs / 1_000} s`, late)];
  } catch (error) {
    return [failed(name, `could not be checked: ${reasonOf(error)}`, "Mend what the sentence names.")];
  }
}

/** The first of several, and that there are more. */
export function firstOf(names: readonly string[]): string {
  return [...names.slice(0, MAX_NAMED), ...(names.length > MAX_NAMED ? ["…"] : [])].join(", ");
}

export const MAX_NAMED = 5;

/** What an error says, by the system's code where it has one and is no sentence of ours. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const [code, words] = [systemCode(error), systemWords(error)];
  return code !== undefined && !words.includes(code) && !words.endsWith(".") ? `${code}: ${words}` : words;
}
