import { resolve } from "node:path";
import type { RunFilter } from "../../client/client.js";
import { defined } from "../../core/defined.js";
import type { RunPhase } from "../../core/run/phase.js";
import { leadsSomewhere } from "../../store/disk/is-there.js";
import { resolveProject } from "../../store/runs/project-id.js";
import { isName } from "../session/find-project.js";
import { UsageError } from "../terminal/output.js";

export interface RunsOptions {
  readonly waiting?: boolean;
  readonly failed?: boolean;
  readonly running?: boolean;
  readonly completed?: boolean;
  readonly project?: string;
  readonly package?: string;
  readonly since?: string;
  readonly store?: string;
  readonly query?: string;
  readonly limit?: string;
  readonly json?: boolean;
}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 10_000;

/** What the options of `interlock runs` narrow the listing to. Throws `UsageError` for what is none. */
export async function filterOf(options: RunsOptions, now: Date): Promise<RunFilter> {
  const phases: RunPhase[] = [
    ...(options.waiting === true ? (["waiting-user"] as const) : []),
    ...(options.failed === true ? (["failed"] as const) : []),
    ...(options.running === true ? (["running", "idle"] as const) : []),
    ...(options.completed === true ? (["completed"] as const) : []),
  ];
  return {
    ...(phases.length === 0 ? {} : { phases }),
    ...defined({
      package: options.package,
      query: options.query,
      project: options.project === undefined ? undefined : await projectOf(options.project),
      since: options.since === undefined ? undefined : sinceOf(options.since, now),
    }),
  };
}

export function limitOf({ limit }: RunsOptions): number {
  if (limit === undefined) return DEFAULT_LIMIT;
  const count = /^[1-9]\d{0,4}$/.test(limit) ? Number(limit) : 0;
  if (count < 1 || count > MAX_LIMIT) throw new UsageError(`--limit is a number from 1 to ${MAX_LIMIT}.`);
  return count;
}

/** What is said of a listing that has come to its limit: how to see more, where that can be. */
export function newestWords(limit: number): string {
  const more = Math.min(10 * limit, MAX_LIMIT);
  return `The newest ${limit}.${more > limit ? ` More with: --limit ${more}` : ""}`;
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** A date, with a time of day and its offset if need be. `Date` alone would take 2026-02-30 for 2 March, and words beside a date. */
const DATE =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/;

/** `30m`, `2h`, `3d`, `1w` ago, or a date: without an offset in local time, as times are shown, also where it has no time of day. */
export function sinceOf(text: string, now: Date, option = "--since"): string {
  const [, count = "", unit = ""] = /^(\d{1,5})([mhdw])$/.exec(text) ?? [];
  if (count !== "") return new Date(now.getTime() - Number(count) * (UNITS[unit] ?? 0)).toISOString();
  const [, year, month, day] = DATE.exec(text) ?? [];
  if (!isThatDay(Number(year), Number(month), Number(day))) {
    throw new UsageError(
      `${option} is a time ago, such as 30m, 2h, 3d or 1w, or a date that there is, such as 2026-11-22 or 2026-11-22T09:30Z.`,
    );
  }
  const at = text.length === DAY_LENGTH ? `${text}T00:00` : text.replace(" ", "T"); // a day alone, JavaScript takes for one of UTC
  return new Date(at).toISOString();
}

const DAY_LENGTH = "2026-11-22".length;

function isThatDay(year: number, month: number, day: number): boolean {
  const at = new Date(Date.UTC(year, month - 1, day));
  return at.getUTCMonth() === month - 1 && at.getUTCDate() === day;
}

/** A directory that is there stands for its project; anything else is a project's name or id, here or on another host. */
async function projectOf(text: string): Promise<string> {
  const path = resolve(text);
  if (await leadsSomewhere(path)) {
    const project = await resolveProject(path);
    if (project.ok) return project.value.projectId;
    throw new UsageError(project.error.message);
  }
  if (isName(text)) return text;
  throw new UsageError(
    `The project root "${text}" does not exist. Name an existing directory, or a project.`,
  );
}
