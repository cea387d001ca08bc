import type { Config } from "../../config.js";
import { excerpt, listSome } from "../../core/text.js";
import { UsageError } from "../terminal/output.js";
import { modelOf } from "../options/model-options.js";
import { amount } from "../options/numbers.js";
import type { TestResult } from "./run-test.js";

/** What all runs of a command together may cost. */
export class CostCap {
  readonly limit: number;
  #spent = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** What the next run may cost; 0 where nothing is left. */
  get left(): number {
    return Math.max(this.limit - this.#spent, 0);
  }

  get spent(): number {
    return this.#spent;
  }

  /** Counts a run that is over. After one that has cost more than was left, nothing is left. */
  count({ outcome, isOverCost }: Pick<TestResult, "outcome" | "isOverCost">): void {
    this.#spent += outcome?.usage.cost ?? 0;
    if (isOverCost === true) this.#spent = Math.max(this.#spent, this.limit);
  }
}

/** What `--max-cost` says. Throws `UsageError` where it caps nothing, or where a model has no price: its runs could not be counted. */
export function costCapOf(
  config: Config,
  text: string | undefined,
  names: readonly (string | undefined)[],
  agentIds: readonly string[],
): CostCap | undefined {
  if (text === undefined) return undefined;
  const limit = amount("--max-cost", text);
  const models = names.flatMap((name) => name ?? []);
  if (models.length === 0) throw new UsageError("--max-cost caps what --models cost: add --models <names>.");
  const unpriced = new Set(models.flatMap((model) => withoutPrice(config, model, agentIds)));
  if (unpriced.size > 0) {
    const which = listSome([...unpriced].map((name) => excerpt(name)));
    throw new UsageError(
      `--max-cost needs the price of each model, and there is none of: ${which}. Name it under "prices" in the settings file.`,
    );
  }
  return new CostCap(limit);
}

/** The models without a price that a run with this one would ask: fallbacks and agents' own as well. */
function withoutPrice(config: Config, model: string, agentIds: readonly string[]): readonly string[] {
  const { models } = config;
  const chosen = models.choose(modelOf(config, { model }), agentIds);
  if ("missing" in chosen) throw new UsageError(`--models ${excerpt(model)}: ${chosen.missing}.`);
  const { chain, agents = [] } = chosen;
  return [chain, ...agents.map((own) => own.chain)]
    .flat()
    .filter((ref) => models.priceOf(ref) === undefined)
    .map((ref) => ref.name ?? ref.model);
}
