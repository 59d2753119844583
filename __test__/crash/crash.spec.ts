/**
 * Processes that work with Sessions are killed at random and at every named instant, and what they had been told is
 * compared with what the next one finds. A run that failed is run again with what it prints:
 *   CRASH_SEED=… CRASH_PLAN=… npx vitest run __test__/crash
 * CRASH_KILLS sets how many kills a run has at least.
 */
import { expect, test } from "vitest";
import { random_numbers } from "../support/session.js";
import { is_rare, POINTS } from "./points.js";
import { type Kill, World } from "./world.js";

const KILLS = Number(process.env.CRASH_KILLS ?? 300);
/** Processes at the same time: as many as the project's cores. */
const LANES = 2;
/** Further kills for instants that were not met; on a busy machine some take several tries. */
const MORE_KILLS = 150;

class Run {
  kills = 0;
  worlds = 0;
  readonly faults: string[] = [];
  readonly #seed: number;
  readonly #random: () => number;
  readonly #unmet = new Set(POINTS);
  #next: string[] = [];

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = random_numbers(seed);
  }

  get unmet(): string[] {
    return [...this.#unmet];
  }

  async lane(): Promise<void> {
    while (this.faults.length === 0 && this.kills < (this.#unmet.size > 0 ? KILLS + MORE_KILLS : KILLS)) {
      this.worlds += 1;
      await this.world(this.#seed + this.worlds, this.#plan());
    }
  }

  async world(seed: number, plan: readonly Kill[]): Promise<void> {
    const world = new World(seed);
    await world.run(plan);
    this.kills += world.kills;
    for (const point of world.hits) this.#unmet.delete(point);
    if (world.faults.length === 0) return;
    this.faults.push(
      `CRASH_SEED=${seed} CRASH_PLAN="${plan.join(",")}" left ${world.folder}`,
      ...world.faults,
    );
  }

  #plan(): Kill[] {
    return Array.from({ length: 4 + this.#below(7) }, () => this.#kill());
  }

  #kill(): Kill {
    const kind = this.#below(20);
    if (this.kills >= KILLS) return `at ${this.#point()}#1`;
    // An answer counts most: whoever gave it has been told that it is kept.
    if (kind < 3) return `at ${kind === 1 ? "during" : "after"}:respond#${1 + this.#below(4)}`;
    if (kind === 3) return `boot ${this.#below(200)}`;
    // Short times are more likely, so that starting anew is hit too.
    if (kind < 12) return `ms ${Math.floor(this.#random() ** 2 * 500)}`;
    const point = this.#point();
    return `at ${point}#${is_rare(point) ? 1 : 1 + this.#below(4)}`;
  }

  /** Those that were not met come first, each in turn. */
  #point(): string {
    if (this.#next.length === 0) {
      const left = this.#unmet.size > 0 ? this.unmet : POINTS;
      this.#next = [...left];
    }
    return this.#next.splice(this.#below(this.#next.length), 1)[0] as string;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

test("whatever instant a process is killed at, all it was told holds in the next one, and nothing stalls", {
  timeout: 900_000,
}, async () => {
  const seed = Number(process.env.CRASH_SEED ?? Math.floor(Math.random() * 1e9));
  const started = Date.now();
  const run = new Run(seed);
  const plan = process.env.CRASH_PLAN;
  if (plan === undefined) await Promise.all(Array.from({ length: LANES }, () => run.lane()));
  else await run.world(seed, plan.split(","));
  const seconds = Math.round((Date.now() - started) / 1000);
  process.stdout.write(`crash: CRASH_SEED=${seed}, ${run.kills} kills, ${run.worlds} files, ${seconds} s\n`);
  expect(run.faults).toEqual([]);
  if (plan !== undefined) return;
  expect(run.kills).toBeGreaterThanOrEqual(KILLS);
  expect(run.unmet).toEqual([]);
});
