import { setFlagsFromString } from "node:v8";

/** Of V8, in Node 20 to 24. */
export const LEAN_HEAP_FLAG = "--heap-growing-percent=40";

/**
 * Lets the heaps of this process grow by two fifths of what lives in them before V8 looks at all of it, instead of to several times as
 * much. What a worker leaves behind is mostly requests and answers of models: they live for the seconds that a model takes, long enough to be
 * taken for what stays. For a process that is a worker and nothing else: a program with a worker of its own decides by itself.
 */
export function keepHeapsLean(): void {
  setFlagsFromString(LEAN_HEAP_FLAG);
}
