/**
 * The places where the crash tests kill or stop a process, one at each boundary. Under SIGKILL, what a process has
 * written is there; what it was about to do is not.
 */
export const FAILPOINTS = Object.freeze([
  // a file of the store is replaced
  "file.temporary-written",
  "file.temporary-synced",
  "file.renamed",
  // lines are appended to a log of the store
  "log.before-line",
  "log.line-written",
  // the index of a log goes on
  "index.before-lines",
  "index.lines-written",
  // fs.write puts a file into the project
  "write.noted",
  "write.temporary-written",
  "write.temporary-synced",
  "write.before-rename",
  "write.renamed",
  "write.durable",
  // one tool call
  "call.planned",
  "call.done",
  "call.recorded",
  "audit.recorded",
  // one call of an external tool
  "tool.before-call",
  "tool.answered",
  // one model turn
  "model.before-request",
  "model.answer-received",
  "model.answer-written",
  // tool results are left out of a conversation that grows too long
  "context.before-fold",
  "context.folded",
  // entries of the state document's lists that are too many for it are moved to files
  "entries.written",
  "entries.moved",
  // the user's words
  "input.received",
  "input.written",
  // a change of phase
  "phase.status-written",
  "phase.indexed",
  // somebody is told of it
  "notice.kept",
  "notice.started",
  "notice.sent",
  // any activity
  "activity.begun",
  "activity.before-report",
  // a run is made
  "run.artifacts-made",
  "run.staged",
  "run.placed",
  "run.indexed",
  // a run is pruned
  "prune.unlisted",
  "prune.moved",
  "prune.removed",
  // a package is installed
  "package.staged",
  "package.sealed",
  "package.placed",
] as const);

export type FailpointName = (typeof FAILPOINTS)[number];

/** Does nothing, and nothing can make it do anything: the crash tests run a build that has another file in this one's place. */
export function failpoint(_name: FailpointName): void {}
