/** Numbers and times in words. Times are ISO, UTC; shown in the reader's zone. */

const UNITS = [
  { ms: 86_400_000, word: "d" },
  { ms: 3_600_000, word: "h" },
  { ms: 60_000, word: "min" },
] as const;

/** `340 ms`, `4.1 s`, `3 min 5 s`, `2 h 4 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const at = UNITS.findIndex((unit) => ms >= unit.ms);
  const [large, small] = [UNITS[at], UNITS[at + 1] ?? { ms: 1_000, word: "s" }];
  if (large === undefined) return "";
  const whole = Math.floor(ms / large.ms);
  const rest = Math.floor((ms - whole * large.ms) / small.ms);
  return rest === 0 ? `${whole} ${large.word}` : `${whole} ${large.word} ${rest} ${small.word}`;
}

/** How long ago a time was, in its largest unit: `3 min ago`. */
export function ago(iso: string | undefined, now: number): string {
  const at = Date.parse(iso ?? "");
  if (Number.isNaN(at)) return "";
  const ms = now - at;
  if (ms < 10_000) return "just now";
  if (ms < 60_000) return `${Math.floor(ms / 1_000)} s ago`;
  const unit = UNITS.find((known) => ms >= known.ms);
  return unit === undefined ? "" : `${Math.floor(ms / unit.ms)} ${unit.word} ago`;
}

/** A time of day, with the day where it is not today. */
export function clock(iso: string | undefined, now: number): string {
  const at = new Date(iso ?? "");
  if (Number.isNaN(at.getTime())) return "";
  const time = at.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return new Date(now).toDateString() === at.toDateString() ? time : `${at.toLocaleDateString()} ${time}`;
}

/** `950`, `12.3k`, `4.5M`. */
export function amount(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 999_950) return `${(count / 1_000).toFixed(count < 99_950 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** A cost, with as many digits as say something. Its currency is that of the configured prices. */
export function cost(value: number): string {
  if (value === 0) return "0";
  return value < 0.01 ? value.toPrecision(2) : value.toFixed(value < 10 ? 3 : 2);
}

/** `640 B`, `12 KB`, `3.4 MB`. */
export function bytes(count: number): string {
  if (count < 1_000) return `${count} B`;
  if (count < 1_000_000) return `${(count / 1_000).toFixed(count < 10_000 ? 1 : 0)} KB`;
  return `${(count / 1_000_000).toFixed(1)} MB`;
}
