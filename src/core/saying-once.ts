/** So many sentences are told apart: of whoever says ever new ones, no more are heard. */
const MAX_SAID = 1_000;

/** Says each sentence once. */
export function sayingOnce(say: (sentence: string) => void): (sentence: string) => void {
  const said = new Set<string>();
  return (sentence) => {
    if (said.has(sentence) || said.size >= MAX_SAID) return;
    said.add(sentence);
    say(sentence);
  };
}
