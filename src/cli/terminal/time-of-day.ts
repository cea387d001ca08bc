/** `09:14:02`, in local time, as all times of day are shown. */
export function timeOfDay(at: Date): string {
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(":");
}

export function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

const DAY_MS = 86_400_000;

/** As long ago as people count: the time of day of the last day, else the date. Local time. */
export function timeOf(iso: string, now: Date): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return "";
  const time = timeOfDay(at);
  if (now.getTime() - at.getTime() < DAY_MS / 2) return time;
  return `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())} ${time.slice(0, 5)}`;
}
