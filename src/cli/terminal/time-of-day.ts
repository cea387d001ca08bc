/** `09:14:02`, in local time, as all times of day are shown. */
function timeOfDay(at: Date): string {
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(":");
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

const DAY_MS = 86_400_000;

/** As long ago as people count: the time of day where it is within half a day, else the date. Local time. */
export function timeOf(iso: string, now: Date): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return "";
  const time = timeOfDay(at);
  if (Math.abs(now.getTime() - at.getTime()) < DAY_MS / 2) return time;
  return `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())} ${time.slice(0, 5)}`;
}

/** How long something has taken: `42 s`, `3 min 05 s`, `2 h 04 min`, `93 d 4 h`. */
export function elapsedWords(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (minutes === 0) return `${seconds} s`;
  if (hours === 0) return `${minutes} min ${twoDigits(seconds % 60)} s`;
  if (hours < 24) return `${hours} h ${twoDigits(minutes % 60)} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
