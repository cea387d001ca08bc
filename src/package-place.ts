import { existsSync } from "node:fs";
import { dirname, extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/* Where the files of this package lie, whichever file the code that asks has been put into: source in a test, a few files in a build. */

/*
 * Found when a file is asked for, not when this is loaded: a program that was bundled into one CommonJS file, with the client in it, has
 * no `import.meta.url`, and needs none of these files.
 */
let found: Place | undefined;

interface Place {
  readonly root: string;
  readonly isSource: boolean;
  /** `src/` or `dist/`. */
  readonly code: string;
}

function place(): Place {
  found ??= placeOf(fileURLToPath(import.meta.url));
  return found;
}

function placeOf(file: string): Place {
  const root = rootAbove(dirname(file));
  return {
    root,
    isSource: extname(file) === ".ts",
    code: join(root, relative(root, file).split(sep)[0] ?? ""),
  };
}

/** A file that is delivered with the code, such as `examples/create-story`. */
export function packageFile(path: string): string {
  return join(place().root, path);
}

/** A file that lies among the code which runs, compiled or not. */
export function codeFile(path: string): string {
  return join(place().code, path);
}

/** A module by its name, such as `workflows/index`: compiled in a build, source in a test. */
export function moduleFile(name: string): string {
  return codeFile(`${name}${place().isSource ? ".ts" : ".js"}`);
}

/** A file that only a build has. Code that runs from its source finds that of the build beside it. */
export function builtFile(path: string): string {
  return place().isSource ? join(place().root, "dist", path) : codeFile(path);
}

function rootAbove(dir: string): string {
  const above = dirname(dir);
  return existsSync(join(dir, "package.json")) || above === dir ? dir : rootAbove(above);
}
