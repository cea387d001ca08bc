/** The last line of a text answer that ends a bundle run. */
export const DONE_LINE = "WORKFLOW COMPLETE";
