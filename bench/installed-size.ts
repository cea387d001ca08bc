import { execFile } from "node:child_process";
import { lstat, readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** What package-lock.json says of a package, by its directory. */
interface Locked {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** The bytes that whoever installs the package in `root` gets beyond Temporal's own packages and what those bring along. */
export async function bytesBeyondTemporal(root: string): Promise<number> {
  const packing = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const { stdout } = await promisify(execFile)("npm", packing, { cwd: root });
  const [packed] = JSON.parse(stdout) as readonly [{ readonly unpackedSize: number }]; // npm's own format
  const others = await Promise.all((await packagesBeyondTemporal(root)).map(bytesOf));
  return others.reduce((sum, size) => sum + size, packed.unpackedSize);
}

/** The directories of the packages that come with the one in `root`, but not those that Temporal's bring along. */
export async function packagesBeyondTemporal(root: string): Promise<readonly string[]> {
  const packages = await lockedPackages(root);
  const names = Object.keys(packages[""]?.dependencies ?? {});
  const ofTemporal = names.filter((name) => name.startsWith("@temporalio/"));
  const theirs = installedWith(ofTemporal, packages);
  return [...installedWith(names, packages)]
    .filter((path) => !theirs.has(path))
    .map((path) => join(root, path));
}

export async function lockedPackages(root: string): Promise<Readonly<Record<string, Locked>>> {
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, Locked>;
  }; // npm's own format
  return lock.packages;
}

/** The directories of these packages and of all that they need, from where `above` lies. */
function installedWith(
  names: readonly string[],
  packages: Readonly<Record<string, Locked>>,
  above = "",
  found = new Set<string>(),
): ReadonlySet<string> {
  for (const name of names) {
    const nested = `${above}/node_modules/${name}`;
    const path = nested in packages ? nested : `node_modules/${name}`;
    if (found.has(path) || !(path in packages)) continue;
    found.add(path);
    installedWith(Object.keys(packages[path]?.dependencies ?? {}), packages, path, found);
  }
  return found;
}

/** The bytes of all files of a package, but not of packages in it. */
export async function bytesOf(dir: string): Promise<number> {
  const entries = await readdir(dir, { withFileTypes: true });
  const sizes = entries
    .filter(({ name }) => name !== "node_modules")
    .map((entry) => {
      const path = join(dir, entry.name);
      return entry.isDirectory() ? bytesOf(path) : lstat(path).then(({ size }) => size);
    });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
