/** What parts a clause from the next one. A list, "do not read, load or run X", is one clause. */
const END = String.raw`(?:,(?![^.;:!?]{0,200}\bn?or\b)|\s[-–—]\s|\s(?:then|dann)(?=\s))`;

/** What stands before what a line goes on to say, and is no word against it. */
const OTHER_CLAUSES = [
  /** "If it is not warm, …", "If not approved return to …" */
  String.raw`(?<![\w-])(?:if|when|whenever|unless|once|while|wenn|falls|sobald|solange|если|когда)(?![\w-])(?:[^.;:!?,]{0,200}?(?:,|\s[-–—]\s|\s(?:then|dann)(?=\s))|\snot\s[\w-]{1,40}\s(?=(?:return|go|proceed|continue|load|skip|jump|move|restart|loop)\b))`,
  /** "The lid is not on, …", and not "It is not allowed, whatever happens, to …", nor "It does not, at any time, …" */
  String.raw`\b(?:is|are|was|were|has|have|had|does|did)(?:n't|n’t|\s(?:still\s|yet\s)?not)\b(?!\s?,|[^.;:!?]{0,200},\s{1,3}to\s(?:[\w-]{1,20}\s){1,4}\W{0,6}$)[^.;:!?,]{0,120}?${END}`,
  /** "Do not wait for an answer, …" */
  String.raw`\b(?:never|not|don['’]t)\s(?:stop|halt|wait|pause|ask|hesitate)\b[^.;:!?,]{0,120}?(?:${END}|\sand\s)`,
  /** "Without a lid - …", "Instead of pouring again, …", "Before it is poured, …" */
  String.raw`\b(?:without|instead of|rather than|before)\b[^.;:!?,]{0,120}?${END}`,
].map((clause) => new RegExp(clause, "gi"));

/** Whether words against it stand before what a line says, in its own clause: "never" in a condition or before an arrow denies nothing. */
export function isDenied(lead: string, words: RegExp): boolean {
  if (!words.test(lead)) return false;
  const last = lead.split(/→|->|=>/).at(-1) ?? "";
  return words.test(OTHER_CLAUSES.reduce((text, clause) => text.replaceAll(clause, ", "), last));
}
