import {
  type GraphState,
  GraphStateSchema,
  type InitialStateParams,
  InitialStateParamsSchema,
} from "./schemas.js";

/** The state before the first node. Throws ZodError on parameters that no valid state could have. */
export function createInitialState(params: InitialStateParams): GraphState {
  return GraphStateSchema.parse(InitialStateParamsSchema.parse(params));
}
