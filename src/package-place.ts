import { existsSync } from "node:fs";
import { dirname, extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/* Where the files of this package lie, whichever file the code that asks has been put into: source in a test, a few files in a build. */

const HERE = fileURLToPath(import.meta.url);
const PACKAGE = rootAbove(dirname(HERE));
const IS_SOURCE = extname(HERE) === ".ts";
const BUILD = join(PACKAGE, "dist");
/** `src/` or `dist/`. */
const CODE = join(PACKAGE, relative(PACKAGE, HERE).split(sep)[0] ?? "");

/** A file that is delivered with the code, such as `examples/create-story`. */
export function packageFile(path: string): string {
  return join(PACKAGE, path);
}

/** A file that lies among the code which runs, compiled or not. */
export function codeFile(path: string): string {
  return join(CODE, path);
}

/** A module by its name, such as `workflows/index`: compiled in a build, source in a test. */
export function moduleFile(name: string): string {
  return codeFile(`${name}${IS_SOURCE ? ".ts" : ".js"}`);
}

/** A file that only a build has. Code that runs from its source finds that of the build beside it. */
export function builtFile(path: string): string {
  return IS_SOURCE ? join(BUILD, path) : codeFile(path);
}

function rootAbove(dir: string): string {
  const above = dirname(dir);
  return existsSync(join(dir, "package.json")) || above === dir ? dir : rootAbove(above);
}
