/** The model or its provider has refused to answer, in these words; there may be none. */
export interface ModelRefusal {
  readonly code: "LLM_REFUSED" | "LLM_CONTENT_FILTERED";
  readonly words: string;
}
