import { beforeEach, vi } from "vitest";

/** What commands of this file's tests print, test by test; on both streams, in the order it comes. */
export function commandOutput(): { text: string } {
  const output = { text: "" };
  beforeEach(() => {
    output.text = "";
    const spies = [process.stdout, process.stderr].map((stream) =>
      vi.spyOn(stream, "write").mockImplementation((text) => {
        output.text += String(text);
        return true;
      }),
    );
    return () => {
      for (const spy of spies) spy.mockRestore();
    };
  });
  return output;
}
