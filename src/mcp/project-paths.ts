import type { JsonObject, JsonValue } from "../core/json.js";
import { isList } from "../core/json.js";

/** The run's project, in the settings of a server and in what a model writes. */
export const PROJECT = "@project";

/** Where it stands for the project in a setting: alone or with a path, at the beginning or behind what parts an option from its values. */
const PLACE = /(?<=^|[=:,])@project(?=$|[/:,])/g;
/** Where it may be meant to. */
const LIKE_PLACE = /(?<![\w@.-])@project(?![\w-])/g;

export function namesProject(text: string): boolean {
  return text.search(PLACE) !== -1;
}

/** A setting with the project's directory where it is named. */
export function withProject(text: string, projectRoot: string): string {
  return text.replace(PLACE, () => projectRoot);
}

/** Why a setting names the project in vain; undefined where it does not. */
export function projectProblem(text: string): string | undefined {
  const places = text.match(PLACE) ?? [];
  if (places.length < (text.match(LIKE_PLACE) ?? []).length)
    return "must have @project at the beginning or behind = : or , and alone or before a path: nowhere else it stands for the project";
  const ways = text.match(/(?<=^|[=:,])@project\/[^:,]*/g) ?? [];
  return ways.some((way) => way.split(/[/\\]/).includes("..")) ? "must not lead out of @project" : undefined;
}

/** A text that is a path in the project from its beginning to its end. */
const PATH = /^@project(?:\/[^\n\r\0]{0,4096})?$/;

/** Arguments with the project's paths as a server in it knows them: what it names is shown as `@project/…`, and comes back so. */
export function withRealPaths(args: JsonObject, projectRoot: string): JsonObject {
  return Object.fromEntries(Object.entries(args).map(([key, value]) => [key, realPath(value, projectRoot)]));
}

function realPath(value: JsonValue, projectRoot: string): JsonValue {
  if (typeof value === "string") return PATH.test(value) ? projectRoot + value.slice(PROJECT.length) : value;
  if (value === null || typeof value !== "object") return value;
  return isList(value) ? value.map((item) => realPath(item, projectRoot)) : withRealPaths(value, projectRoot);
}
