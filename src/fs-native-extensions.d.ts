declare module "fs-native-extensions" {
  interface LockOptions {
    /** A shared (read) lock instead of an exclusive (write) one. */
    readonly shared?: boolean;
  }
  export function tryLock(fd: number, offset?: number, length?: number, options?: LockOptions): boolean;
  export function waitForLock(
    fd: number,
    offset?: number,
    length?: number,
    options?: LockOptions,
  ): Promise<void>;
  export function unlock(fd: number, offset?: number, length?: number): void;
}
