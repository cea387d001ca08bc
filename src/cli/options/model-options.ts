import type { Command } from "commander";
import type { Config } from "../../config.js";
import { defined } from "../../core/defined.js";
import { MAX_MODELS_IN_CHAIN } from "../../core/run/limits.js";
import type { WantedModel } from "../../core/run/run-model.js";
import { UsageError } from "../terminal/output.js";
import { eachTime } from "./common-options.js";

export interface ModelChoice {
  readonly model?: string;
  readonly baseUrl?: string;
  readonly fallback?: readonly string[];
}

/** The model options of commands that start a run, or let one go on. */
export function withModelOptions(command: Command, otherwise: string): Command {
  return command
    .option(
      "--model <name>",
      `a name of models in settings.json, or what the endpoint calls it (${otherwise})`,
    )
    .option("--base-url <url>", "the endpoint where it answers: one that the worker is configured with")
    .option(
      "--fallback <name>",
      "a name of models, asked where the model fails; may be given several times",
      eachTime,
    );
}

/** The configuration with the endpoint that was typed, for a worker of the command's own. It gets no key that was given for another. */
export function configFor(config: Config, { baseUrl }: ModelChoice): Config {
  return baseUrl === undefined
    ? config
    : { ...config, models: config.models.withEndpoint(endpointOf(config, baseUrl)) };
}

/** The model that the options name; undefined where they name none. Throws `UsageError`. */
export function modelOf(config: Config, choice: ModelChoice): WantedModel | undefined {
  const { model, fallback: fallbacks } = choice;
  if (model === "") throw new UsageError("--model takes the name of a model.");
  if (fallbacks !== undefined && fallbacks.length >= MAX_MODELS_IN_CHAIN) {
    throw new UsageError(`--fallback may be given ${MAX_MODELS_IN_CHAIN - 1} times.`);
  }
  const baseUrl = choice.baseUrl === undefined ? undefined : endpointOf(config, choice.baseUrl);
  const named = model === undefined ? {} : config.models.has(model) ? { name: model } : { model };
  const wanted = { ...named, ...defined({ baseUrl, fallbacks }) };
  return Object.keys(wanted).length === 0 ? undefined : wanted;
}

/** The model that a run is to be started with. Throws `UsageError`. */
export function chosenModel(config: Config, choice: ModelChoice): WantedModel | undefined {
  return config.temporal === undefined ? pinnedModel(config, choice) : modelOf(config, choice);
}

/**
 * The model of a run whose worker this command is: in full, so that another worker of the queue takes no other for it. Undefined
 * where none is configured. Throws `UsageError` where this shell has not the one that the options name.
 */
function pinnedModel(config: Config, choice: ModelChoice): WantedModel | undefined {
  const wanted = modelOf(config, choice);
  const chosen = config.models.choose(wanted, []);
  if ("missing" in chosen) {
    if (wanted === undefined) return undefined;
    throw new UsageError(`The worker of this command does not have that model: ${chosen.missing}.`);
  }
  const [first] = chosen.chain;
  if (first === undefined) return wanted;
  const { name, model, endpoint: baseUrl } = first;
  return { ...defined({ name }), model, baseUrl, ...defined({ fallbacks: wanted?.fallbacks }) };
}

function endpointOf({ models }: Config, text: string): string {
  const url = /[?#]/.test(text) ? undefined : models.normal(text);
  if (url !== undefined) return url;
  throw new UsageError(
    "--base-url takes an http or https URL without user name, password, query and fragment. Put keys in a variable, and the rest in settings.json.",
  );
}
