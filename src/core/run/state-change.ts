import type { JsonObject } from "../json.js";
import type { FrontmatterUpdate } from "../tools/tool-specs.js";

/** What a call wants to change in the state document. */
export type StateChange =
  | { readonly kind: "patch"; readonly update: FrontmatterUpdate; readonly ifMatchSha256?: string }
  | { readonly kind: "document"; readonly frontmatter: JsonObject; readonly ifMatchSha256?: string };
