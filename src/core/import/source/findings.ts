import { excerpt, cutText } from "../../text.js";
import { jsonEscaped } from "../../printable.js";

/** What an import has to say of its source: an error leaves no package, a warning asks for a look, a note explains. */
export interface ImportFinding {
  readonly severity: "error" | "warning" | "note";
  /** Relative to the directory that is imported. */
  readonly file: string;
  /** 1-based; 0 for the file as a whole. */
  readonly line: number;
  readonly message: string;
}

const MAX_FINDINGS = 200;
const ORDER = ["error", "warning", "note"] as const;

/** Collects findings, each once, up to a bound. */
export class ImportFindings {
  private readonly known = new Map<string, ImportFinding>();
  private more = 0;

  add(severity: ImportFinding["severity"], file: string, line: number, message: string): void {
    const finding = {
      severity,
      file: cutText(jsonEscaped(file), 300),
      line,
      message: cutText(jsonEscaped(message), 600),
    };
    const key = JSON.stringify(finding);
    if (this.known.has(key)) return;
    if (this.known.size < MAX_FINDINGS) this.known.set(key, finding);
    else this.more += 1;
  }

  /** Errors first, then warnings, then notes; each by file and line. */
  list(): readonly ImportFinding[] {
    const sorted = [...this.known.values()].sort(
      (a, b) =>
        ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity) ||
        (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line),
    );
    if (this.more === 0) return sorted;
    return [...sorted, { severity: "note", file: ".", line: 0, message: `and ${this.more} more findings` }];
  }
}

/** A name from the source in a sentence. */
export function named(name: string): string {
  return `"${excerpt(name, 160)}"`;
}
