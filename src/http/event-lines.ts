/**
 * The lines of a stream of events, in time linear in its bytes however they are cut into chunks: a line's pieces are put together once, at
 * its end, which is LF, CR or both.
 */
export class EventLines {
  private readonly decoder = new TextDecoder();
  /** Pieces of a line that has not ended. */
  private begun: string[] = [];
  private endedWithReturn = false;

  /** The lines that end in this chunk, without their ends. */
  endingIn(chunk: Uint8Array): readonly string[] {
    let text = this.decoder.decode(chunk, { stream: true });
    if (this.endedWithReturn && text.startsWith("\n")) text = text.slice(1);
    if (text === "") return [];
    this.endedWithReturn = text.endsWith("\r");
    const [first = "", ...others] = text.split(/\r\n|\n|\r/);
    const last = others.pop();
    if (last === undefined) {
      this.begun.push(first);
      return [];
    }
    const lines = [this.unended() + first, ...others];
    this.begun = last === "" ? [] : [last];
    return lines;
  }

  /** What is there of a line that has not ended. */
  unended(): string {
    return this.begun.join("");
  }
}
