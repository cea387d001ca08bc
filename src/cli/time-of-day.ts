/** `09:14:02`, in local time, as all times of day are shown. */
export function timeOfDay(at: Date): string {
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(":");
}

export function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}
