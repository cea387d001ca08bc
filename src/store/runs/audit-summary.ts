import { type JsonObject, type JsonValue, isList } from "../../core/json.js";
import { namesSecret, redactSecrets } from "../../core/prompt/redact.js";
import { cutText } from "../../core/text.js";
import { MAX_PATH_BYTES } from "../../core/tools/alias-path.js";
import { sha256 } from "../disk/sha256.js";

const LONGEST_TEXT = 160;
const LONGEST_LIST = 20;
const PREVIEW_CHARS = 60;
/** Redacted before the preview is cut: a cut through a secret would hide its shape. */
const REDACTED_CHARS = 2_000;
/** Room for the longest path, each character of it escaped, and for what stands beside it. */
const MAX_SUMMARY_BYTES = 2 * MAX_PATH_BYTES + 4_000;

/** Fields that carry file contents, however short they are. */
const CONTENT_FIELDS = new Set(["content", "contentPreview", "text", "matches", "before", "after"]);

/**
 * An input or output as the audit log shows it: contents replaced by size, hash and a short preview, secrets left out.
 * The value is nested at most 100 deep.
 */
export function summarizeForAudit(value: JsonValue): JsonValue {
  const summary = summarize(value, 0);
  const text = JSON.stringify(summary);
  return Buffer.byteLength(text) > MAX_SUMMARY_BYTES ? digestOf(JSON.stringify(value)) : summary;
}

function summarize(value: JsonValue, depth: number): JsonValue {
  if (typeof value === "string") return value.length > LONGEST_TEXT ? digestOf(value) : redactSecrets(value);
  if (value === null || typeof value !== "object") return value;
  if (depth > 8) return digestOf(JSON.stringify(value));
  if (isList(value)) {
    if (value.length > LONGEST_LIST) return { items: value.length, ...digestOf(JSON.stringify(value)) };
    return value.map((item) => summarize(item, depth + 1));
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [redactSecrets(key), summarizeField(key, item, depth)]),
  );
}

function summarizeField(key: string, item: JsonValue, depth: number): JsonValue {
  if (typeof item === "string" && namesSecret(key)) return "<secret>";
  // By its path a file is found again: by who looks at a run, and in what is signed about it.
  if (key === "path" && typeof item === "string" && Buffer.byteLength(item) <= MAX_PATH_BYTES) {
    return redactSecrets(item);
  }
  return CONTENT_FIELDS.has(key) && typeof item !== "number"
    ? contentDigest(item)
    : summarize(item, depth + 1);
}

function contentDigest(value: JsonValue): JsonValue {
  return digestOf(typeof value === "string" ? value : JSON.stringify(value));
}

function digestOf(text: string): JsonObject {
  const preview = cutText(redactSecrets(text.slice(0, REDACTED_CHARS)), PREVIEW_CHARS);
  return { bytes: Buffer.byteLength(text), sha256: sha256(text), preview };
}
