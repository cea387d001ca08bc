import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { FAILPOINTS } from "../../src/core/failpoint.js";
import { type ArmedBuild, type Victim, readHits } from "../crash/armed-build.js";
import type { Arming } from "../crash/armed-failpoint.js";
import type { WorkerLife } from "./evidence.js";
import { startOtherWorker } from "./other-build.js";
import type { Random } from "./random.js";

/** Worker processes that are killed and stopped, and always come back. */
export interface Troupe {
  readonly lives: readonly WorkerLife[];
  readonly pids: readonly number[];
  /** What was done, by kind. */
  readonly figures: ReadonlyMap<string, number>;
  killOne(): void;
  stopOne(ms: number): void;
  /** Which failpoints were passed, and at which something happened. */
  failpoints(): { readonly hits: Record<string, number>; readonly struck: Record<string, number> };
  /** From now on nothing happens to them. */
  calm(): void;
  end(): Promise<void>;
}

export interface TroupeOptions {
  readonly size: number;
  readonly build: ArmedBuild;
  readonly environment: Readonly<Record<string, string>>;
  /** Gets a file of hits for each worker. */
  readonly hitsDir: string;
  readonly random: Random;
  readonly isArmed: boolean;
  /** Checkouts of other builds: while there is trouble, every other worker is of one of them. */
  readonly others?: readonly string[];
}

interface Member {
  readonly life: WorkerLife & {
    readonly events: { at: number; what: "started" | "stopped" | "woken" | "ended" }[];
  };
  readonly arming: Arming;
  readonly victim: Victim;
  readonly isOther: boolean;
  isStopped: boolean;
  isGone: boolean;
}

const OF_WORKER = FAILPOINTS.filter((name) => !/^(?:package|prune)\./.test(name));
const SWEEP_MS = 4_000;

export function openTroupe(options: TroupeOptions): Troupe {
  const { size, build, environment, hitsDir, random, isArmed, others = [] } = options;
  mkdirSync(hitsDir, { recursive: true });
  const lives: WorkerLife[] = [];
  const members = new Map<number, Member>();
  const armings: Arming[] = [];
  const figures = new Map<string, number>();
  const count = (what: string) => figures.set(what, (figures.get(what) ?? 0) + 1);
  let isCalm = !isArmed;
  const over = new AbortController();
  let started = 0;

  function makeArming(name: string, place: number): Arming {
    const hitsFile = join(hitsDir, name);
    if (isCalm || (place === 0 && size > 1) || !random.chance(0.8)) return { hitsFile };
    const hit = 1 + Math.floor(random.next() ** 2 * 40);
    const action = random.chance(0.75) ? "kill" : "pause";
    return { hitsFile, at: { name: random.pick(OF_WORKER), hit, action } };
  }

  /** Keeps one place filled. */
  async function keep(place: number): Promise<void> {
    while (!over.signal.aborted) {
      started += 1;
      const name = `worker-${started}`;
      const isOther = !isCalm && others.length > 0 && place % 2 === 1;
      const arming = isOther ? { hitsFile: join(hitsDir, name) } : makeArming(name, place);
      const isStream = random.chance(0.5);
      const variables = { ...environment, OPENAI_API_KEY: name, INTERLOCK_MODEL_STREAM: String(isStream) };
      let victim: Victim;
      try {
        victim = isOther
          ? await startOtherWorker(random.pick(others), variables)
          : await build.startWorker(variables, arming);
        if (isOther) count("workers of other builds");
      } catch {
        count("workers that could not start");
        await pause(500);
        continue;
      }
      const life: Member["life"] = { name, mayPause: arming.at?.action === "pause", events: [] };
      const member: Member = { life, arming, victim, isOther, isStopped: false, isGone: false };
      life.events.push({ at: Date.now(), what: "started" });
      lives.push(life);
      armings.push(arming);
      members.set(place, member);
      if (over.signal.aborted) return;
      const signal = await victim.ended;
      member.isGone = true;
      life.events.push({ at: Date.now(), what: "ended" });
      if (signal === null && !over.signal.aborted) {
        count("workers that ended by themselves");
        process.stderr.write(`${name} ended by itself: ${victim.errors().slice(-600)}\n`);
      }
      if (!isCalm) await pause(random.between(0, 3_000));
    }
  }

  /** Not the only one that works: one goes on, or nothing is seen but beginnings. */
  function someMember(mayBeStopped: boolean): Member | undefined {
    const living = [...members.values()].filter(({ isGone }) => !isGone);
    const working = living.filter(({ isStopped }) => !isStopped);
    const able = (mayBeStopped ? living : working).filter((item) => working.some((other) => other !== item));
    return able.length === 0 ? undefined : random.pick(able);
  }

  function wake(member: Member): void {
    member.victim.process.kill("SIGCONT");
    if (!member.isStopped) return;
    member.isStopped = false;
    member.life.events.push({ at: Date.now(), what: "woken" });
  }

  // A failpoint may have stopped one.
  const sweeper = setInterval(() => {
    for (const member of members.values()) if (!member.isStopped && !member.isGone) wake(member);
  }, SWEEP_MS);
  const keeping = Array.from({ length: size }, (_, place) => keep(place));
  const killAll = () => members.forEach(({ victim }) => victim.process.kill("SIGKILL"));
  process.once("exit", killAll);

  return {
    lives,
    figures,
    get pids() {
      return [...members.values()].flatMap(({ isGone, victim }) => (isGone ? [] : [victim.process.pid ?? 0]));
    },
    killOne() {
      const member = someMember(true);
      if (member === undefined) return;
      member.victim.process.kill("SIGKILL");
      count("workers killed at any point");
    },
    stopOne(ms) {
      const member = someMember(false);
      if (member === undefined) return;
      member.victim.process.kill("SIGSTOP");
      member.isStopped = true;
      member.life.events.push({ at: Date.now(), what: "stopped" });
      count(ms > 6_000 ? "workers stopped past their heartbeat" : "workers stopped for a moment");
      setTimeout(() => wake(member), ms);
    },
    failpoints() {
      const hits: Record<string, number> = {};
      for (const file of readdirSync(hitsDir)) {
        for (const name of readHits(join(hitsDir, file))) hits[name] = (hits[name] ?? 0) + 1;
      }
      const struck: Record<string, number> = {};
      for (const { at, hitsFile } of armings) {
        if (at === undefined || readHits(hitsFile).filter((name) => name === at.name).length < at.hit)
          continue;
        struck[at.name] = (struck[at.name] ?? 0) + 1;
      }
      return { hits, struck };
    },
    calm() {
      isCalm = true;
      for (const member of members.values()) {
        if (member.isGone) continue;
        wake(member);
        if (member.isOther) member.victim.process.kill("SIGKILL"); // what is left is for this build
      }
    },
    async end() {
      over.abort();
      clearInterval(sweeper);
      for (let round = 0; round < 2; round += 1) {
        await Promise.all([...members.values()].map(({ victim }) => victim.end()));
        await Promise.all(keeping);
      }
      process.off("exit", killAll);
    },
  };
}
