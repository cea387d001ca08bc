import { tryLock } from "fs-native-extensions";
import { systemCode } from "../../core/system-code.js";

/** What a file system says that has no locks: ENOLCK where its server keeps none, as with NFS. */
const WITHOUT_LOCKS: ReadonlySet<string | undefined> = new Set(["ENOLCK", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"]);

/** Takes the kernel's lock on an open file, unless somebody else has it. `path` is for the sentence where the file system has no locks. */
export function tryKernelLock(fd: number, path: string, options?: { readonly shared?: boolean }): boolean {
  try {
    return tryLock(fd, 0, 0, options);
  } catch (error) {
    const code = systemCode(error);
    if (!(error instanceof Error) || !WITHOUT_LOCKS.has(code)) throw error;
    const sentence = `${path} cannot be locked (${code}). Put it on a file system with kernel locks, such as a local disk.`;
    throw Object.assign(new Error(sentence, { cause: error }), { code });
  }
}
