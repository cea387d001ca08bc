import type { SessionManifest } from "../../src/store/runs/bundle-session.js";

/** The manifest of a session that has just begun. */
export function sessionManifest(runId: string): SessionManifest {
  return {
    sessionId: "s",
    runId,
    workflow: "w",
    agent: null,
    status: "running",
    createdAt: "2026-01-02T03:04:05.000Z",
    updatedAt: "2026-01-02T03:04:05.000Z",
    outputs: [],
    files: [],
  };
}
