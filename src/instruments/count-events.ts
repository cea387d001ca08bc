import { BUNDLE_TOOLS } from "../core/bundle/bundle-tools.js";
import { ERROR_CODES } from "../core/errors.js";
import type { RunEvent } from "../core/run/run-event.js";
import { FILE_TOOLS, STATE_TOOL } from "../core/tools/tool-specs.js";
import { LabelValues } from "./label-values.js";
import type { Meters } from "./meters.js";
import { isOverPhase } from "../core/run/phase.js";

const TOOLS = new LabelValues([...FILE_TOOLS, STATE_TOOL, ...BUNDLE_TOOLS], 0);
export const OUTCOMES = new LabelValues(["ok", "completed", ...ERROR_CODES], 0);

/** Counts what runs write into their audit logs: each event once, by the worker that wrote it. */
export function countEvent(meters: Meters, models: LabelValues, event: RunEvent): void {
  switch (event.kind) {
    case "model.turn":
      if (event.turn > 0) countTurn(meters, models, event); // turn 0 is the runtime's own
      return;
    case "tool.exec": {
      const outcome = OUTCOMES.of(outcomeOf(event.output));
      meters.count("calls", { tool: TOOLS.of(event.toolName), outcome });
      if (outcome === "E_INVALID_TRANSITION") meters.count("guardRefusals", {});
      return;
    }
    case "run.phase": {
      if (!isOverPhase(event.phase)) return;
      meters.count("ends", { outcome: OUTCOMES.of(event.code ?? event.phase) });
      return;
    }
    case "user.input":
    case "node.pass":
      return;
  }
}

function countTurn(meters: Meters, models: LabelValues, event: Extract<RunEvent, { kind: "model.turn" }>) {
  const model = models.of(event.answeredBy?.model ?? event.model);
  const whole = (tokens = 0): number => Math.max(0, Math.round(tokens));
  meters.count("turns", { model });
  meters.count("tokens", { model, type: "input" }, whole(event.promptTokens));
  meters.count("tokens", { model, type: "cached_input" }, whole(event.cachedPromptTokens));
  meters.count("tokens", { model, type: "output" }, whole(event.completionTokens));
  meters.observe("cost", Math.max(0, event.cost), { model });
}

/** `ok`, or the error code of a call's result, where the tool has codes. */
function outcomeOf(output: unknown): string {
  if (typeof output !== "object" || output === null) return "ok";
  const { ok, success, error } = output as { ok?: unknown; success?: unknown; error?: unknown }; // any fields
  if (ok !== false && success !== false) return "ok";
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : error;
  return typeof code === "string" ? code : "";
}
