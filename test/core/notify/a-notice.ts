import type { Notice, NoticeData } from "../../../src/core/notify/notice.js";

/** A question of a run, and what a test says otherwise. */
export function aNotice(changes: Partial<NoticeData> = {}): Notice {
  return {
    type: "run.question",
    timestamp: "2026-01-02T03:04:05.678Z",
    data: {
      schemaVersion: "1.0",
      event: "question",
      runId: "11111111-2222-4333-8444-555555555555",
      workflowId: "run-11111111-2222-4333-8444-555555555555",
      change: 1,
      phase: "waiting-user",
      package: "two-nodes-1.0.0-000000000000",
      workflow: "two-nodes",
      projectId: "shop-000000000000",
      project: "shop",
      node: "ask",
      question: { id: "1.1", text: "Which one?" },
      command: "interlock answer 11111111-2222-4333-8444-555555555555 --question 1.1",
      ...changes,
    },
  };
}
