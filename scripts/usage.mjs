import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The command line asks for something that there is not; its message says what. */
export class WrongUsage extends Error {}

/**
 * What a script is asked for. With `--help` it ends with 0 and says how it is called; where `read` throws `WrongUsage`, or `parseArgs`
 * refuses, with 2 and says what is wrong as well. The programs of bench/ do the same (bench/usage.ts).
 */
export function commandLine(usage, read) {
  const argv = process.argv.slice(2);
  if (argv.includes("--help")) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return read(argv);
  } catch (error) {
    const isOfParser = String(error.code).startsWith("ERR_PARSE_ARGS_");
    if (!isOfParser && !(error instanceof WrongUsage)) throw error;
    console.error(`${error.message}\n\n${usage}`);
    process.exit(2);
  }
}

/**
 * The names that stand in TypeScript as `name: "…"`, in a file or in those of a folder, relative to the root: they are wanted before
 * anything is compiled. `test/boundaries/script-usage.test.ts` compares them with what the code itself says.
 */
export function namesIn(path) {
  const place = fileURLToPath(new URL(`../${path}`, import.meta.url));
  const files = path.endsWith(".ts")
    ? [place]
    : readdirSync(place).flatMap((file) => (file.endsWith(".ts") ? [`${place}/${file}`] : []));
  return files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/\bname: "([^"]+)"/g)].map(([, name]) => name),
  );
}

/** Throws `WrongUsage` for a name that is none of those that there are. */
export function expectKnown(what, name, known) {
  if (!known.includes(name))
    throw new WrongUsage(`There is no ${what} "${name}". There are: ${known.join(", ")}.`);
}
