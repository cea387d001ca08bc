/** An id in the place of one that is refused: another for each, and the same wherever it stands. */
export function standInFor(refused: string): string {
  const plain = refused.replaceAll(/[^A-Za-z0-9._-]/g, (letter) => `:u${letter.charCodeAt(0).toString(16)}:`);
  return /^[A-Za-z0-9]/.test(plain) ? plain : `${BEGINNING}${plain}`;
}

const BEGINNING = "0:u:";

/** An id as its package has it, also where another one stands in for it. */
export function asWritten(id: string): string {
  const plain = id.startsWith(BEGINNING) ? id.slice(BEGINNING.length) : id;
  return plain.replaceAll(/:u([0-9a-f]{1,4}):/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}
