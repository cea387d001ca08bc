/** What a tool has returned as a text for the model: a text as it is, anything else as JSON, with what JSON does not have as near as it goes. */
export function answerText(answer: unknown): string {
  if (typeof answer === "string") return answer;
  try {
    return JSON.stringify(answer, withoutJson) ?? "";
  } catch (error) {
    return `It has run. What it returned cannot be shown as JSON: ${thrownWords(error)}`;
  }
}

/** JSON has no large integers, maps, sets and errors. */
function withoutJson(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Set) return [...value];
  if (value instanceof Error) return { name: value.name, message: thrownWords(value) };
  if (!(value instanceof Map)) return value;
  const entries: readonly (readonly [unknown, unknown])[] = [...value];
  return entries.every(([key]) => typeof key === "string") ? Object.fromEntries(entries) : entries;
}

/** The words of whatever was thrown. Never throws. */
export function thrownWords(thrown: unknown): string {
  try {
    if (typeof thrown === "string") return thrown;
    const isObject = typeof thrown === "object" && thrown !== null;
    if (isObject && "message" in thrown && typeof thrown.message === "string" && thrown.message !== "")
      return thrown.message;
    if (thrown instanceof Error) return thrown.name;
    if (isObject) return `it threw ${JSON.stringify(thrown)}`;
    if (typeof thrown === "function") return "it threw a function";
    const primitive = thrown as string | symbol | undefined; // no object and no function
    return `it threw ${String(primitive)}`;
  } catch {
    return "it threw something that cannot be shown";
  }
}
