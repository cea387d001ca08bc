/** The question, asked by one at a time: who asks while an answer is awaited hears that answer, or that fault. */
export function askOnce<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => (asked ??= ask().finally(() => (asked = undefined)));
}
