/** Writes what `scripts/rooms.json` allows into `.oxlint-rooms.json`, for the linter: an override for each folder of src/. */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";

const SRC = fileURLToPath(new URL("../src", import.meta.url));
const ROOMS = JSON.parse(readFileSync(new URL("rooms.json", import.meta.url), "utf8"));
const MANIFEST = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const LIBRARIES = Object.keys({ ...MANIFEST.dependencies, ...MANIFEST.devDependencies }).sort();

/** The room of a file of src/: the longest name in the table that it lies under. */
export function roomOf(file) {
  const parts = file.split("/");
  for (let length = parts.length; length > 0; length -= 1) {
    const name = parts.slice(0, length).join("/");
    if (Object.hasOwn(ROOMS, name)) return name;
  }
  return undefined;
}

/** The linter's rules for the files of src/ as they are now. */
export function lintRules() {
  const files = readdirSync(SRC, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith(".d.ts"))
    .map((file) => file.replaceAll("\\", "/"))
    .sort();
  const places = new Set(files.flatMap((file) => [posix.dirname(file)]));
  const alone = files.filter((file) => Object.hasOwn(ROOMS, file));
  return {
    overrides: [...places, ...alone]
      .filter((place) => roomOf(place) !== undefined)
      .map((place) => ruleFor(place, files, [...places])),
  };
}

function ruleFor(place, files, places) {
  const isFile = files.includes(place);
  const room = roomOf(place);
  const { rooms, packages } = ROOMS[room];
  const from = isFile ? posix.dirname(place) : place;
  const mayUse = (file) => roomOf(file) === room || rooms.includes(roomOf(file));
  // A folder in which some files are rooms of their own may be refused in part.
  const ours = places.flatMap((folder) => {
    const inside = files.filter((file) => posix.dirname(file) === folder);
    const barred = inside.filter((file) => !mayUse(file));
    const begin = escaped(toward(from, folder));
    if (barred.length === inside.length) return [`${begin}[^/]+`];
    return barred.map((file) => `${begin}${escaped(posix.basename(file, ".ts"))}\\.js`);
  });
  const libraries = LIBRARIES.filter((name) => !packages.includes(name)).map(
    (name) => `${escaped(name)}(?:/.+)?`,
  );
  const refused = [...ours, ...libraries, ...(packages.includes("node") ? [] : ["node:.+"])];
  const message = `${room} may import ${[...rooms, ...packages].join(", ") || "nothing"} (scripts/rooms.json).`;
  return {
    files: isFile ? [`src/${place}`] : patternsOf(place, files),
    rules: {
      "no-restricted-imports": ["error", { patterns: [{ regex: `^(?:${refused.join("|")})$`, message }] }],
    },
  };
}

/** A folder's files, those with JSX where it has such. */
function patternsOf(place, files) {
  const folder = place === "." ? "src/" : `src/${place}/`;
  const hasJsx = files.some((file) => file.endsWith(".tsx") && posix.dirname(file) === place);
  return hasJsx ? [`${folder}*.ts`, `${folder}*.tsx`] : [`${folder}*.ts`];
}

/** How a file of the folder `from` begins the name of one of the folder `to`. */
function toward(from, to) {
  const path = posix.relative(from, to);
  if (path === "") return "./";
  return path.startsWith("..") ? `${path}/` : `./${path}/`;
}

function escaped(text) {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

if (import.meta.main ?? process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(
    new URL("../.oxlint-rooms.json", import.meta.url),
    `${JSON.stringify(lintRules(), null, 2)}\n`,
  );
}
