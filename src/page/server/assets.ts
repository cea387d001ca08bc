import { createHash } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { extname, join } from "node:path";
import { unlessUnreadNow } from "../../core/system-code.js";
import { builtFile } from "../../package-place.js";

/** A file of the page, as it is sent. */
export interface Asset {
  readonly bytes: Buffer;
  readonly type: string;
  readonly etag: string;
}

/** By the end of a file's name. Others are not served. */
const TYPES: ReadonlyMap<string, string> = new Map([
  [".html", "text/html; charset=utf-8"],
  [".js", "text/javascript; charset=utf-8"],
  [".css", "text/css; charset=utf-8"],
  [".svg", "image/svg+xml"],
  [".txt", "text/plain; charset=utf-8"],
]);

/** Where a build puts the page. */
export const BUILT_PAGE = builtFile("page/web");

/**
 * The files of a folder by the paths under which they are served, read once: no path of a request ever leads into a file system. The
 * page itself is `/` as well. Empty where there is no build; rejects where it cannot be read now.
 */
export async function loadAssets(dir: string): Promise<ReadonlyMap<string, Asset>> {
  const assets = new Map<string, Asset>();
  const entries = await readdir(dir, { withFileTypes: true }).catch(unlessUnreadNow([]));
  for (const entry of entries) {
    const type = TYPES.get(extname(entry.name));
    if (!entry.isFile() || type === undefined) continue;
    const bytes = await readFile(join(dir, entry.name));
    const etag = `"${createHash("sha256").update(bytes).digest("base64url")}"`;
    assets.set(entry.name === "index.html" ? "/" : `/${entry.name}`, { bytes, type, etag });
  }
  return assets;
}
