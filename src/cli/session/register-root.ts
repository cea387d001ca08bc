import type { Access } from "../../core/tools/name-rules.js";
import type { Store } from "../../store/store.js";
import { usable } from "../terminal/output.js";

/** Registers what somebody names on the store's own machine, unless it is permitted already. Throws `UsageError`. */
export async function registerRoot(store: Store, path: string, access: Access): Promise<void> {
  if (store.roots.permits(path, access)) return;
  usable(await store.roots.add(path, access));
}
