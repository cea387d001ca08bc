// Types for `require` and for `.cts` files: TypeScript's node16 refuses the types of an ES module there, though Node loads it.
import { readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const ES_MODULE = `{ with: { "resolution-mode": "import" } }`;

/** Writes `<module>.d.cts` beside each of the modules (paths of `.js` files): all its types, and its values by name. */
export async function writeCommonJsTypes(modules) {
  for (const path of modules) {
    const name = path.replace(/^.*\//, "");
    const imported = `import("./${name}", ${ES_MODULE})`;
    const values = Object.entries(await import(pathToFileURL(path).href));
    const lines = [
      `export type * from "./${name}" with { "resolution-mode": "import" };`,
      `type Module = typeof ${imported};`,
      ...values.flatMap(([value, is]) => [
        `export declare const ${value}: Module["${value}"];`,
        ...(isClass(is) ? [`export type ${value} = ${imported}.${value};`] : []),
      ]),
    ];
    await writeFile(path.replace(/\.js$/, ".d.cts"), `${lines.join("\n")}\n`);
    await refuseSharedNames(path, values);
  }
}

function isClass(value) {
  return typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
}

/** The value of a name hides a type of the same name: none but a class may be both. */
async function refuseSharedNames(path, values) {
  const declared = await readFile(path.replace(/\.js$/, ".d.ts"), "utf8");
  const types = new Set([...declared.matchAll(/\btype (\w+)\b/g)].map(([, name]) => name));
  const both = values.find(([name, value]) => types.has(name) && !isClass(value));
  if (both !== undefined) throw new Error(`${path}: ${both[0]} is a type and a value. Give them two names.`);
}
