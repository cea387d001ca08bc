/*
 * Loaded by the bundler's `preloadModules`, once for all runs of a worker and before the first of them: modules of core and contract,
 * and zod with them, keep nothing of a run (test/boundaries/shared-modules.test.ts), and a copy of them takes 1.8 MB and 20 ms of CPU.
 */

/** What webpack calls its modules and what loads one, in the bundle. */
declare const __webpack_modules__: Readonly<Record<string, unknown>>;
declare const __webpack_require__: (id: string) => object;

const SHARED = /(?:^|\/)(?:src|dist)\/(?:core|contract)\/[^]+\.[jt]s$/;

for (const id of Object.keys(__webpack_modules__)) {
  if (SHARED.test(id)) keepFromChange(__webpack_require__(id));
}

/**
 * Temporal's SDK freezes what is shared, as deep as it goes into what is not frozen. A schema of zod works out the most of itself
 * when it is first used, and fails when it is frozen: so all but schemas is frozen here.
 */
function keepFromChange(value: unknown): void {
  if (!isPlain(value) || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const part of Object.values(value)) keepFromChange(part);
}

/** A list, an object without a class, or what a module exports. */
function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  return Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
}
