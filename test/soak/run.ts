import { setTimeout as sleep } from 'node:timers/promises';
import type { Actor, Turn } from './actor.ts';
import type { Options } from './options.ts';
import { Random } from './random.ts';
import type { Report } from './report.ts';
import type { Stage } from './stage.ts';

const TURN_LIMIT_MS = 20_000;

interface Place {
  readonly actor: Actor;
  readonly lane: number;
  readonly turn: number;
}

/** Runs the turns of actors on a stage. What turn N of a lane decides follows from the seed and these names alone. */
export class Run {
  readonly #stage: Stage;
  readonly #report: Report;
  readonly #seed: string;

  constructor(stage: Stage, report: Report, { seed }: Options) {
    this.#stage = stage;
    this.#report = report;
    this.#seed = seed;
  }

  /** Runs all lanes of all actors, until `untilMs`. */
  async play(actors: readonly Actor[], untilMs: number): Promise<void> {
    const lanes = actors.flatMap((actor) =>
      Array.from({ length: actor.lanes ?? 1 }, (_, lane) => this.#lane(actor, lane, untilMs)),
    );
    await Promise.all(lanes);
  }

  async #lane(actor: Actor, lane: number, untilMs: number): Promise<void> {
    for (let turn = 0; performance.now() < untilMs && this.#stage.gateway.ended === undefined; turn++) {
      await this.take({ actor, lane, turn });
      // Other lanes get their turn even when this one never waits.
      await sleep(actor.restMs ?? 0);
    }
  }

  /** Runs one turn; anything that goes wrong in it is a violation. */
  async take({ actor, lane, turn }: Place): Promise<void> {
    const name = `${actor.name}:${lane}:${turn}`;
    const violation: Turn['violation'] = (message, evidence) =>
      this.#report.violation({ actor: actor.name, turn: name, message, evidence });
    const limitMs = actor.limitMs ?? TURN_LIMIT_MS;
    const late = new AbortController();
    const act = actor.act({
      random: new Random(`${this.#seed}/${name}`),
      stage: this.#stage,
      probe: (tookMs) => (this.#report.slowestProbeMs = Math.max(this.#report.slowestProbeMs, tookMs)),
      count: (kind) => this.#report.count(actor.name, kind),
      violation,
    });
    const end = act.then(
      () => true,
      (error: Error) => (violation(error.message, error.stack), true),
    );
    const limit = sleep(limitMs, false, { signal: late.signal }).catch(() => true);
    if (!(await Promise.race([end, limit]))) violation(`a turn did not end within ${limitMs / 1000} s`);
    late.abort();
  }
}
