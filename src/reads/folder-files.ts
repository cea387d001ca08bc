import { closeSync, fstatSync, readSync } from "node:fs";
import { join } from "node:path";
import type { JsonAnswers } from "../contract/reads.js";
import { type Result, fail, ok } from "../core/errors.js";
import { unlessUnreadNow } from "../core/system-code.js";
import { excerpt } from "../core/text.js";
import { NotOurFile, openOwnFile } from "../store/disk/own-file.js";
import { sha256 } from "../store/disk/sha256.js";
import { isListed, listFolder } from "../store/runs/run-archive.js";
import type { Store } from "../store/store.js";
import type { Answer } from "./answer-pages.js";
import { openRun } from "./run-facts.js";

/** The files of a run's folder, as an archive holds them. Faults: `E_RUN_NOT_FOUND`, `E_INTERNAL`. */
export async function filesOf(store: Store, id: string): Promise<Result<JsonAnswers["read.files"]>> {
  const opened = await openRun(store, id);
  if (!opened.ok) return opened;
  return ok({ files: await listFolder(opened.value.files.dir) });
}

/** One of these files. What grows is read up to where it ended at first. Faults: `E_RUN_NOT_FOUND`, `ENOENT`, `E_INTERNAL`. */
export async function openFile(
  store: Store,
  asked: { readonly run: string; readonly name: string },
): Promise<Result<Answer>> {
  const opened = await openRun(store, asked.run);
  if (!opened.ok) return opened;
  const { dir } = opened.value.files;
  const unknown = fail("ENOENT", `The run's folder has no file "${excerpt(asked.name)}".`);
  if (!isListed(dir, asked.name)) return unknown;
  let fd: number;
  try {
    fd = openOwnFile(join(dir, ...asked.name.split("/")), "read");
  } catch (error) {
    if (error instanceof NotOurFile) return fail("E_INTERNAL", error.message);
    return unlessUnreadNow(unknown)(error); // it was there a moment ago
  }
  const { ino, size, mtimeMs } = fstatSync(fd);
  return ok({
    size,
    // Logs only grow, and a copy of one that takes its place is the same log.
    version: asked.name.endsWith(".jsonl") ? "log" : sha256([ino, size, mtimeMs].join(" ")),
    slice(offset, length) {
      const bytes = Buffer.alloc(Math.min(length, Math.max(0, size - offset)));
      return Promise.resolve(bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, offset)));
    },
    close: () => Promise.resolve(closeSync(fd)),
  });
}
