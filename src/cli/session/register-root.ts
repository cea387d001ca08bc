import type { Access } from "../../core/tools/name-rules.js";
import type { Store } from "../../store/store.js";
import { usable } from "../terminal/output.js";

/** Registers what somebody names on the store's own machine, unless it is permitted already. Throws `UsageError`. */
export async function registerRoot(store: Store, path: string, access: Access): Promise<void> {
  const kinds = ["directory", "file"] as const;
  if (kinds.some((kind) => store.roots.permit(path, access, { kind }).ok)) return;
  usable(await store.roots.add(path, access));
}
