import { lstat, realpath } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { StoreReader, StoredArtifact } from "../../contract/reads.js";
import { ReadRefused } from "../../contract/reads.js";
import { excerpt, shellName, withoutPath } from "../../core/text.js";
import { wholeFile } from "../../client/stores/store-reader.js";
import {
  CommandError,
  EXIT,
  type ExitCode,
  UsageError,
  outputIsTerminal,
  print,
  printBlock,
  printJson,
  writeBytes,
} from "../terminal/output.js";
import { makeFolders } from "../../store/disk/make-folders.js";
import { writeOwnStream } from "../../store/disk/own-file.js";
import { notFound, read } from "../session/run-folder.js";
import { withReader } from "../session/run-session.js";
import { saveFile } from "../../store/disk/save-file.js";
import { type Column, tableLines } from "../terminal/table.js";
import { wordsOf } from "../../core/system-code.js";

interface ArtifactsOptions {
  readonly save?: string;
  readonly output?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** `interlock artifacts`: what a run has recorded as its results: listed, printed or saved. */
export async function artifactsCommand(
  named: string,
  name: string | undefined,
  options: ArtifactsOptions,
): Promise<ExitCode> {
  if (options.output !== undefined && name === undefined) {
    throw new UsageError("--output is for one artifact: name it, or save all with --save <dir>.");
  }
  if (options.output !== undefined && options.save !== undefined) {
    throw new UsageError("Say one of --output and --save.");
  }
  return withReader(named, async ({ reader, runId }) => {
    const { artifacts } = read(runId, await reader.ask("read.artifacts", { run: runId }));
    const chosen = name === undefined ? artifacts : [chosenOf(runId, artifacts, name)];
    if (options.save !== undefined) return saveAll(reader, runId, chosen, options.save, options);
    if (name === undefined) {
      list(artifacts, options);
      return EXIT.done;
    }
    const [artifact] = chosen;
    if (options.output === undefined && options.json === true) {
      printJson(artifact); // as the listing has it: what a file holds may be no text
      return EXIT.done;
    }
    const path = artifact?.path ?? name;
    const pieces = reader.bytes("read.artifact", { run: runId, path });
    if (options.output === undefined) await show(runId, pieces);
    else {
      await save(runId, pieces, resolve(options.output), options.force === true);
      if (options.json === true) printJson({ runId, saved: [{ path, file: resolve(options.output) }] });
    }
    return EXIT.done;
  });
}

/** By its path, or by the end of it where that says which. */
function chosenOf(runId: string, artifacts: readonly StoredArtifact[], name: string): StoredArtifact {
  const plain = name.replace(/^(?:\.\/+)+/, "");
  const exact = artifacts.find(({ path }) => path === name || path === plain);
  if (exact !== undefined) return exact;
  const ending = artifacts.filter(({ path }) => path.endsWith(`/${name}`));
  const [only, other] = ending;
  if (only !== undefined && other === undefined) return only;
  const sentence =
    only === undefined
      ? `Run ${runId} has recorded no artifact "${excerpt(name)}".`
      : `"${excerpt(name)}" is the end of several artifacts: name one in full.`;
  throw new UsageError(`${sentence} See: interlock artifacts ${shellName(runId)}`);
}

function list(artifacts: readonly StoredArtifact[], { json = false }: ArtifactsOptions): void {
  if (json) printJson(artifacts);
  else if (artifacts.length === 0) print("The run has recorded no artifacts.");
  else {
    const rows = artifacts.map(({ path, bytes, sha256, nodeId }) => [
      (sha256 ?? "-").slice(0, 12),
      bytes === null ? "-" : String(bytes),
      nodeId ?? "-",
      path,
    ]);
    const [titles = "", ...lines] = tableLines(COLUMNS, rows);
    print(titles);
    for (const [index, line] of lines.entries()) {
      print(line);
      const problem = artifacts[index]?.problem;
      if (problem !== undefined) print(`    ${problem}`);
    }
  }
}

/** Paths are printed whole: they are what a result is asked for by. */
const COLUMNS: readonly Column[] = [
  { title: "SHA-256", max: 12 },
  { title: "BYTES", max: 20 },
  { title: "NODE", max: 60 },
  { title: "ARTIFACT", max: 4096 },
];

/** As they are for a program; for a terminal as lines that can be shown. */
async function show(runId: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    if (outputIsTerminal()) {
      printBlock((await wholeFile(pieces)).toString("utf8"));
      return;
    }
    for await (const piece of pieces) await writeBytes(piece);
  } catch (error) {
    throw refusal(runId, error);
  }
}

function refusal(runId: string, error: unknown): unknown {
  return error instanceof ReadRefused ? notFound(runId, error.fault) : error;
}

async function saveAll(
  reader: StoreReader,
  runId: string,
  artifacts: readonly StoredArtifact[],
  named: string,
  { force = false, json = false }: ArtifactsOptions,
): Promise<ExitCode> {
  const dir = resolve(named);
  const root = await placeFor(dir);
  const saved: { readonly path: string; readonly file: string }[] = [];
  const notSaved: { readonly path: string; readonly problem: string }[] = [];
  for (const { path, problem } of artifacts) {
    if (problem !== undefined) {
      notSaved.push({ path, problem });
      if (!json) print(`${path} is not saved: ${problem}`);
      continue;
    }
    const file = await placeInside(root, path);
    await save(runId, reader.bytes("read.artifact", { run: runId, path }), file, force);
    saved.push({ path, file });
    if (!json) print(file);
  }
  if (json) printJson({ runId, saved, ...(notSaved.length === 0 ? {} : { notSaved }) });
  return notSaved.length === 0 ? EXIT.done : EXIT.failed;
}

/** The directory that somebody has named, made where it is not there. */
async function placeFor(dir: string): Promise<string> {
  try {
    await makeFolders(dir);
    return await realpath(dir);
  } catch (error) {
    throw unwritten(dir, error);
  }
}

function unwritten(path: string, error: unknown): CommandError {
  const reason = withoutPath(wordsOf(error), dirname(path));
  return new CommandError(`${path} could not be written: ${reason}`, { cause: error });
}

/** Where an artifact is saved: below a directory, its folders made, through no link. */
async function placeInside(root: string, path: string): Promise<string> {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  const isPlain = names.every(
    (name) => name !== ".." && !name.includes(sep) && !name.includes("\0") && !/^[A-Za-z]:/.test(name),
  );
  const last = names.pop();
  if (!isPlain || last === undefined) {
    throw new CommandError(
      `"${excerpt(path)}" would not be saved inside the directory. Save it with --output.`,
    );
  }
  let folder = root;
  for (const name of names) {
    folder = join(folder, name);
    if ((await lstat(folder).catch(() => undefined)) === undefined) await placeFor(folder);
    if (!(await lstat(folder)).isDirectory()) {
      throw new CommandError(`${folder} is no directory of its own: nothing is saved through it.`);
    }
  }
  return join(folder, last);
}

/** Nothing is replaced unless it is asked for. */
async function save(
  runId: string,
  pieces: AsyncIterable<Uint8Array>,
  file: string,
  force: boolean,
): Promise<void> {
  const there = await lstat(file).catch(() => undefined);
  if (there !== undefined && (!force || !there.isFile())) {
    const remedy = there.isFile() ? "Replace it with --force." : "Choose another place.";
    throw new CommandError(`${file} is there already. ${remedy}`);
  }
  try {
    const write = (path: string) =>
      pipeline(Readable.from(pieces, { objectMode: false }), writeOwnStream(path));
    await saveFile(file, write, { replaces: force });
  } catch (error) {
    if (error instanceof ReadRefused) throw refusal(runId, error);
    throw unwritten(file, error);
  }
}
