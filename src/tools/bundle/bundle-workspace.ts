import { basename } from "node:path";
import type { BundleLayout, BundlePath } from "../../core/bundle/bundle-path.js";
import type { PathVariable } from "../../core/tools/alias-path.js";
import { type Result, ok } from "../../core/errors.js";
import { requireSystemCode, unreadFault } from "../../core/system-code.js";
import { writtenText } from "../../core/written-text.js";
import { MANIFEST_NAME } from "../../store/runs/bundle-session.js";
import type { FileIdentity } from "../../store/roots/root-places.js";
import { DEFAULT_PROTECTED_PATHS, type ProtectedPaths } from "../../core/tools/name-rules.js";
import { type Mount, type Workspace, type Writer, openMounts } from "../sandbox/workspace.js";
import { Refusal } from "../sandbox/faults.js";
import { resolveExisting } from "../sandbox/resolve.js";
import { readSmallFile } from "./small-file.js";

/** The host directories of a bundle run. */
export interface BundleRoots {
  readonly bundleRoot: string;
  readonly coreRoot?: string;
  readonly projectRoot: string;
  /** Absent where nothing runs, as when a bundle is checked. */
  readonly session?: { readonly dir: string; readonly sessionId: string };
}

/** What a path means, and where it leads. */
export interface BundlePlace {
  readonly workspace: Workspace;
  readonly layout: BundleLayout;
}

/** Nothing hidden: a bundle that lies in a hidden directory of the project is reached through its own root. */
const HIDDEN_IN_PROJECT = [".*", "node_modules"];
/** Where some versions put their installation, with the list of its agents. */
const HIDDEN_INSTALLATION = ".bmad";

interface BundlePlaceOptions {
  readonly lockDir: string;
  readonly keepOut: readonly string[];
  readonly writer?: Writer;
  /** What the roots were when they were permitted, by their paths. */
  readonly identities?: ReadonlyMap<string, FileIdentity | undefined>;
  readonly protectedPaths?: ProtectedPaths | undefined;
}

/**
 * The four roots and their rules (contracts §13): all can be read, the session folder alone written. Fault: `E_INTERNAL` where the bundle
 * cannot be read now.
 */
export async function openBundlePlace(
  roots: BundleRoots,
  options: BundlePlaceOptions,
): Promise<Result<BundlePlace>> {
  const { bundleRoot, coreRoot, projectRoot, session } = roots;
  const { protectedPaths = DEFAULT_PROTECTED_PATHS } = options;
  const inProject: ProtectedPaths = {
    notWritable: [],
    notAccessible: [...HIDDEN_IN_PROJECT, ...protectedPaths.notAccessible],
    allowed: protectedPaths.notAccessible.includes(HIDDEN_INSTALLATION) ? [] : [HIDDEN_INSTALLATION],
  };
  const mount = (root: string, rules: Partial<Mount> = {}): Mount => ({
    root,
    identity: options.identities?.get(root),
    writable: false,
    followsLinks: true,
    isPrivate: false,
    reserved: [],
    protectedPaths,
    keepOut: [options.lockDir, ...options.keepOut],
    ...rules,
  });
  const mounts = new Map<PathVariable, Mount>([
    ["bundle-root", mount(bundleRoot)],
    ["project-root", mount(projectRoot, { protectedPaths: inProject })],
  ]);
  if (coreRoot !== undefined) mounts.set("core-root", mount(coreRoot));
  if (session !== undefined) {
    mounts.set("session-folder", mount(session.dir, { writable: true, reserved: [MANIFEST_NAME] }));
  }
  const workspace = openMounts(mounts, options.lockDir, options.writer);
  const names = await bundleNames(workspace, bundleRoot);
  if (!names.ok) return names;
  const layout: BundleLayout = {
    bundleNames: names.value,
    hasCore: coreRoot !== undefined,
    ...(session === undefined ? {} : { sessionId: session.sessionId }),
  };
  return ok({ workspace, layout });
}

const MODULE_FILE: BundlePath = { mount: "bundle-root", segments: ["module.yaml"] };
const MAX_MODULE_BYTES = 1024 * 1024;

/** The directory's name, and the one that a module's source declares: an installer puts it under that. */
async function bundleNames(workspace: Workspace, bundleRoot: string): Promise<Result<readonly string[]>> {
  const bytes = await moduleBytes(workspace);
  if (!bytes.ok) return bytes;
  const written = writtenText(bytes.value ?? new Uint8Array());
  const text = "text" in written ? written.text : "";
  const code = /^code:\s*["']?([A-Za-z0-9._-]{1,64})["']?\s*(?:#.*)?$/m.exec(text.slice(0, 64 * 1024))?.[1];
  return ok(code === undefined ? [basename(bundleRoot)] : [basename(bundleRoot), code]);
}

/** Undefined where the bundle has no such file of its own. */
async function moduleBytes(workspace: Workspace): Promise<Result<Uint8Array | undefined>> {
  const [shown = ""] = MODULE_FILE.segments;
  try {
    const { entry } = resolveExisting(workspace, MODULE_FILE);
    return await readSmallFile(entry.at, shown, MAX_MODULE_BYTES, entry.stats).finally(entry.close);
  } catch (error) {
    const code = error instanceof Refusal ? undefined : requireSystemCode(error);
    return unreadFault(shown, code) ?? ok(undefined);
  }
}
