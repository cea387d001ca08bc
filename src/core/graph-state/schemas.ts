import { z } from "zod";

/**
 * The typed state that every node of a run takes and returns (contracts §12).
 *
 * Unknown fields of the state are stripped. Unknown keys of its records are refused, but for `__proto__`, which
 * zod drops from every record. A snapshot's state is the same state without its history, under the same rules,
 * so whatever a history holds can be the state of a run again.
 */

export const GRAPH_STATE_SCHEMA_VERSION = "1.0.0";

const STORY_ID_PATTERN = /^[a-z]+-\d+$/i;

const nonEmpty = z.string().min(1);
const isoTimestamp = z.iso.datetime({ offset: true });

export const ArtifactTypeSchema = z.enum([
  "storyDoc",
  "elaboration",
  "proof",
  "codeReview",
  "qaVerify",
  "uiuxReview",
  "qaGate",
  "evidence",
]);
export type ArtifactType = z.infer<typeof ArtifactTypeSchema>;

export const RoutingFlagSchema = z.enum(["proceed", "retry", "blocked", "escalate", "skip", "complete"]);
export type RoutingFlag = z.infer<typeof RoutingFlagSchema>;

export const GateTypeSchema = z.enum(["codeReview", "qaVerify", "uiuxReview", "qaGate"]);
export type GateType = z.infer<typeof GateTypeSchema>;

export const GateDecisionSchema = z.enum(["PASS", "CONCERNS", "FAIL", "WAIVED", "PENDING"]);
export type GateDecision = z.infer<typeof GateDecisionSchema>;

export const EvidenceRefSchema = z.object({
  type: z.enum(["test", "build", "http", "screenshot", "log"]),
  path: nonEmpty,
  timestamp: isoTimestamp,
  description: z.string().optional(),
});
export type EvidenceRef = z.infer<typeof EvidenceRefSchema>;

/** The message may be empty: an error thrown without one must still be recordable. */
export const NodeErrorSchema = z.object({
  nodeId: nonEmpty,
  message: z.string(),
  code: z.string().optional(),
  timestamp: isoTimestamp,
  stack: z.string().optional(),
  recoverable: z.boolean().default(false),
});
export type NodeError = z.infer<typeof NodeErrorSchema>;

const routingFlags = z
  .partialRecord(RoutingFlagSchema, z.boolean())
  .refine((flags) => !(flags.complete && flags.retry), {
    path: ["retry"],
    error: "retry cannot be set together with complete",
  })
  .refine((flags) => !(flags.complete && flags.blocked), {
    path: ["blocked"],
    error: "blocked cannot be set together with complete",
  });

const graphStateFields = {
  epicPrefix: nonEmpty,
  storyId: z.string().regex(STORY_ID_PATTERN, 'storyId must be letters, "-" and digits, such as wrkf-1010'),
};

/** What a state begins with; the rules between the fields are those of the state. */
export const InitialStateParamsSchema = z.object({
  ...graphStateFields,
  schemaVersion: z.string().optional(),
});
export type InitialStateParams = z.infer<typeof InitialStateParamsSchema>;

const snapshotFields = {
  schemaVersion: z.string().default(GRAPH_STATE_SCHEMA_VERSION),
  ...graphStateFields,
  artifactPaths: z.partialRecord(ArtifactTypeSchema, nonEmpty).default({}),
  routingFlags: routingFlags.default({}),
  evidenceRefs: z.array(EvidenceRefSchema).default([]),
  gateDecisions: z.partialRecord(GateTypeSchema, GateDecisionSchema).default({}),
  errors: z.array(NodeErrorSchema).default([]),
};

/** Judges only what is well formed by itself: an issue of its own would repeat that of the field. */
function storyBelongsToEpic({ epicPrefix, storyId }: InitialStateParams): boolean {
  if (epicPrefix === "" || !STORY_ID_PATTERN.test(storyId)) return true;
  return storyId.slice(0, storyId.indexOf("-")).toLowerCase() === epicPrefix.toLowerCase();
}

const EPIC_RULE = { path: ["storyId"], error: "the prefix of storyId must equal epicPrefix, in any case" };

export const StateSnapshotStateSchema = z.object(snapshotFields).refine(storyBelongsToEpic, EPIC_RULE);
export type StateSnapshotState = z.infer<typeof StateSnapshotStateSchema>;

export const StateSnapshotSchema = z.object({
  timestamp: isoTimestamp,
  state: StateSnapshotStateSchema,
});
export type StateSnapshot = z.infer<typeof StateSnapshotSchema>;

export const GraphStateSchema = z
  .object({ ...snapshotFields, stateHistory: z.array(StateSnapshotSchema).default([]) })
  .refine(storyBelongsToEpic, EPIC_RULE);
export type GraphState = z.infer<typeof GraphStateSchema>;
/** A state as it may be written down: what has a default may be absent. */
export type GraphStateInput = z.input<typeof GraphStateSchema>;

/** `oldValue` is absent where something was added, `newValue` where it was removed. */
export const StateDiffItemSchema = z.object({
  path: z.string(),
  oldValue: z.unknown().optional(),
  newValue: z.unknown().optional(),
});
export type StateDiffItem = z.infer<typeof StateDiffItemSchema>;

export const StateDiffSchema = z.object({
  hasChanges: z.boolean(),
  totalDiffs: z.int().nonnegative(),
  changed: z.array(StateDiffItemSchema),
  added: z.array(StateDiffItemSchema),
  removed: z.array(StateDiffItemSchema),
});
export type StateDiff = z.infer<typeof StateDiffSchema>;
