import { lstatSync, readlinkSync } from "node:fs";
import { isAbsolute } from "node:path";

/**
 * A deliberately simple idea of which paths may be used, written apart from the product: by host paths and without any
 * care for races. It knows the tree of the corpus only.
 */

export type Access = "read" | "write";

export type Place =
  | { readonly kind: "refused" }
  | { readonly kind: "blocked" }
  | { readonly kind: "file" | "directory"; readonly host: string }
  /** `names`: what would be made. */
  | { readonly kind: "missing"; readonly host: string; readonly names: readonly string[] };

const HIDDEN = /^\.env(?:[.\-_]|rc$|$)|^\.git$/i;
const PROTECTED = { read: HIDDEN, write: HIDDEN };

export function placeOf(path: string, access: Access, roots: Readonly<Record<string, string>>): Place {
  const slash = path.indexOf("/");
  const alias = slash === -1 ? path : path.slice(0, slash);
  const mount = ["@project", "@pkg", "@state"].includes(alias) ? alias.slice(1) : undefined;
  const names = slash === -1 ? [] : path.slice(slash + 1).split("/");
  const root = mount === undefined ? undefined : roots[mount];
  if (mount === undefined || root === undefined) return { kind: "refused" };
  if (path.includes("\0") || names.includes("..")) return { kind: "refused" };
  if (mount === "pkg" && access === "write") return { kind: "refused" };
  const real = names.filter((name) => name !== "" && name !== ".");
  if (mount === "state" && access === "write" && real[0] === "logs") return { kind: "refused" };
  if (mount === "state" && access === "write" && real[0] === "workflow.md" && real.length > 1)
    return { kind: "refused" };
  return walk(root, real, mount, access);
}

function walk(root: string, names: readonly string[], mount: string, access: Access): Place {
  let todo = [...names];
  let done: string[] = [];
  let hops = 0;
  const isProtected = (list: readonly string[]) =>
    mount === "project" && list.some((name) => PROTECTED[access].test(name) && name !== ".env.example");
  if (isProtected(names)) return { kind: "refused" };
  for (let name = todo.shift(); name !== undefined; name = todo.shift()) {
    if (name === "..") {
      if (done.pop() === undefined) return { kind: "refused" };
      continue;
    }
    const host = [root, ...done, name].join("/");
    const stats = lstatSync(host, { throwIfNoEntry: false });
    if (stats === undefined) {
      if (todo.includes("..")) return { kind: "blocked" };
      return { kind: "missing", host: [host, ...todo].join("/"), names: [name, ...todo] };
    }
    if (stats.isSymbolicLink()) {
      hops += 1;
      if (mount !== "project" || hops > 40) return { kind: "refused" };
      const text = readlinkSync(host);
      const steps = text.split("/").filter((step) => step !== "" && step !== ".");
      if (isAbsolute(text)) {
        const top = root.split("/").filter((step) => step !== "");
        if (!top.every((step, index) => steps[index] === step)) return { kind: "refused" };
        done = [];
        steps.splice(0, top.length);
      }
      if (isProtected(steps.filter((step) => step !== ".."))) return { kind: "refused" };
      todo = [...steps, ...todo];
      continue;
    }
    if (!stats.isFile() && !stats.isDirectory()) return { kind: "refused" };
    done.push(name);
    if (stats.isFile() && todo.length > 0) return { kind: "blocked" };
  }
  const host = [root, ...done].join("/");
  return { kind: lstatSync(host).isDirectory() ? "directory" : "file", host };
}
