import { systemCode } from "../../core/system-code.js";
import { NotOurFile } from "../disk/own-file.js";
import { DamagedIndex } from "../runs/run-index.js";

/** Something of a store is missing or cannot be read: what it belongs to is not taken. The message names it, and what to do. */
export class Unreadable extends Error {
  /** Nothing is there: it may have been removed, by somebody who may do so. */
  readonly isMissing: boolean;

  constructor(message: string, { cause, isMissing = false }: { cause?: unknown; isMissing?: boolean } = {}) {
    super(message, { cause });
    this.isMissing = isMissing;
  }
}

/** The files of a part change all the time: there was no moment to copy them in. */
export class NeverQuiet extends Error {}

/** Whether an error says that a part cannot be taken: other parts can be. */
export function isAboutPart(error: unknown): error is Unreadable | NeverQuiet | DamagedIndex {
  return error instanceof Unreadable || error instanceof NeverQuiet || error instanceof DamagedIndex;
}

/** Does something that reads the store. Throws `Unreadable` for what the system says, of `place` where it names none. */
export function reading<T>(place: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw asUnreadable(error, place);
  }
}

function asUnreadable(error: unknown, place: string): unknown {
  if (error instanceof NotOurFile) return new Unreadable(error.message, { cause: error });
  const code = systemCode(error);
  if (code === undefined) return error;
  const path = pathOf(error) ?? place;
  if (code === "ENOENT") {
    const message = `${path} is missing: bring it back, from a backup if there is one.`;
    return new Unreadable(message, { cause: error, isMissing: true });
  }
  return new Unreadable(`${path} cannot be read (${code}): check its permissions.`, { cause: error });
}

function pathOf(error: unknown): string | undefined {
  return error instanceof Error && "path" in error && typeof error.path === "string" ? error.path : undefined;
}
