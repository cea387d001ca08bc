/** A text in a query of Temporal's. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}
