import { spawn } from "node:child_process";
import { once } from "node:events";
import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { MAX_USER_INPUT_BYTES } from "../../core/run/limits.js";
import { readOwnFile, writeOwnStream } from "../../store/disk/own-file.js";
import { printable, printableLines } from "../../core/printable.js";
import { writtenText } from "../../core/written-text.js";
import { tooLong } from "./answer-text.js";
import { CommandError, UsageError, editorOutput } from "./output.js";
import { systemCode, wordsOf } from "../../core/system-code.js";
import { leavingCtrlC, noteStopped, wasStopped } from "./interruption.js";

/** What is to be answered, as the editor shows it. */
export interface Asked {
  readonly runId: string;
  readonly nodeId: string;
  /** The question's id, `<visit>.<turn>`. */
  readonly question: string;
  readonly text: string;
}

const TOO_LONG = `${tooLong("The answer").message} Nothing was sent.`;
const NAME = "ANSWER.md";
/** Stands alone on its line. No line of a question can be taken for it: each has more in front. */
const MARKER = "# ------------------------ >8 ------------------------";

/**
 * Lets the user write an answer in an editor, below the question. Returns what was written; empty where nothing was. Throws
 * `UsageError` where no editor is named, `CommandError` where it fails: what it has left then stays, and the error says where.
 */
export async function editAnswer(editor: string | undefined, asked: Asked): Promise<string> {
  if (editor === undefined) {
    throw new UsageError(
      "Write the answer behind the run, give - for standard input or --file <file>, or name an editor with VISUAL or EDITOR.",
    );
  }
  // Only this user may look into it, and nobody else could have made it.
  const dir = await mkdtemp(join(tmpdir(), "interlock-answer-"));
  const file = join(dir, NAME);
  const comments = commentsOf(asked);
  const shown = `${[...comments, MARKER].join("\n")}\n\n`;
  let isLeft = false;
  try {
    const out = writeOwnStream(file);
    out.end(shown);
    await finished(out);
    await runEditor(editor, file);
    const written = writtenText(await writtenBytes(file, Buffer.byteLength(shown)));
    if ("problem" in written) throw new CommandError(`The answer ${written.problem}. Nothing was sent.`);
    const answer = answerIn(written.text, comments);
    if (Buffer.byteLength(answer) > MAX_USER_INPUT_BYTES) throw new CommandError(TOO_LONG);
    return answer;
  } catch (error) {
    isLeft = error instanceof CommandError && !(await isUntouched(dir, shown));
    if (!isLeft) throw error;
    const { message } = error as CommandError; // nothing else is left
    throw new CommandError(`${message} What was written lies in ${file}`, { cause: error });
  } finally {
    if (!isLeft) await rm(dir, { recursive: true, force: true });
  }
}

/** Much more than an answer may have is not even read: it would be taken into memory whole. */
async function writtenBytes(file: string, shownBytes: number): Promise<Buffer> {
  const { size } = await lstat(file).catch((error: unknown) => {
    if (systemCode(error) !== "ENOENT") throw error;
    throw new CommandError("The editor has removed its file: nothing was sent.", { cause: error });
  });
  if (size > shownBytes + 4 * MAX_USER_INPUT_BYTES) throw new CommandError(TOO_LONG);
  return readOwnFile(file);
}

/** Whether an editor has saved nothing, or removed that again, and left no file of its own, as those do that are killed. */
async function isUntouched(dir: string, shown: string): Promise<boolean> {
  const names = await readdir(dir);
  if (names.length === 0) return true;
  const file = join(dir, NAME);
  const asShown = Buffer.from(shown);
  if (names.join() !== NAME || (await lstat(file)).size !== asShown.length) return false;
  return asShown.equals(await readOwnFile(file));
}

/** What Vim, and Emacs, take settings from in the text that they open: the words are read as well with a blank before their colon. */
const SETTINGS = /\b(?:vim?|ex)(?=(?:[<=>]?\d+)?:)|\blocal variables(?=:)/gi;

function commentsOf({ runId, nodeId, question, text }: Asked): readonly string[] {
  const comments = [
    `# Run ${printable(runId)} asks, at ${printable(nodeId)} (question ${question}):`,
    "#",
    ...printableLines(text).map((line) => `#   ${line}`.trimEnd()),
    "#",
    "# Write the answer below the line. Above it what begins with # is left out; below it all of it counts.",
    "# An empty answer sends nothing.",
  ];
  return comments.map((line) => line.replace(SETTINGS, "$& "));
}

/**
 * The answer in an edited file: all below the marker, and above it what is no comment. Where the marker is gone, only the lines that
 * stood there are left out, so that a heading stays.
 */
function answerIn(file: string, comments: readonly string[]): string {
  const lines = file.split(/\r?\n/);
  const marker = lines.findIndex((line) => line.trimEnd() === MARKER);
  const ours = new Set(comments);
  const above = lines.slice(0, Math.max(marker, 0)).filter((line) => !line.startsWith("#"));
  const below = lines.slice(marker + 1);
  const kept = marker === -1 ? below.filter((line) => !ours.has(line.trimEnd())) : [...above, ...below];
  return kept
    .join("\n")
    .replace(/^(?:[ \t]*\n)+/, "")
    .trimEnd();
}

/** As git does: what is more than the path of a program is the shell's to take apart. */
async function runEditor(editor: string, file: string): Promise<void> {
  const isPlain = /^[\w./+-]+$/.test(editor);
  const [command, args] = isPlain ? [editor, [file]] : ["/bin/sh", ["-c", `${editor} "$@"`, editor, file]];
  try {
    const child = spawn(command, args, { stdio: ["inherit", editorOutput(), "inherit"] });
    const closed = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
    const [code, signal] = await leavingCtrlC(closed);
    if (code === 0) {
      if (wasStopped()) throw new CommandError("Stopped while the editor was open: nothing was sent.");
      return;
    }
    if (signal === "SIGINT") noteStopped(signal);
    throw new CommandError(
      `The editor ${printable(editor)} has ended with ${signal ?? `exit code ${code}`}: nothing was sent.`,
    );
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const reason = wordsOf(error);
    throw new UsageError(`The editor ${printable(editor)} cannot be started: ${reason}`, { cause: error });
  }
}
