/** Builds the page into a directory. */
export function buildPage(target: string): Promise<void>;
