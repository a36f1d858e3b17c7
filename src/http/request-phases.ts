import type { Exchange } from './exchange.ts';
import { stateKey } from './request.ts';

/** What the time of a request is spent on. */
type Phase = 'wait' | 'parse' | 'plan' | 'query';

/** A statement or a command of a request. */
export interface TimedPart {
  readonly kind: 'query' | 'kv';
  readonly ms: number;
  /** SQL with `$1` in place of values, or the name of a command. */
  readonly text: string;
  readonly role?: string;
  /** The plan that the database would take, if it is asked for. Never rejects. */
  readonly plan?: Promise<unknown> | undefined;
}

/** More statements and commands of one request are not kept. */
const MAX_PARTS = 32;

/** Where the time of a request goes: kept for the requests of locations with a slow log, filled by other modules. */
export class RequestPhases {
  /** Milliseconds. */
  readonly ms: Partial<Record<Phase, number>> = {};
  readonly parts: TimedPart[] = [];
  /** Rows of the response, or those that a write touched. */
  rows: number | undefined = undefined;
  /** When the last statement or command ended, by `performance.now()`; 0 before that. */
  endedAt = 0;
  /** Decides whether the database is asked for the plan of a statement that took so long. */
  readonly explains: ((ms: number, text: string) => boolean) | undefined;

  constructor(explains?: (ms: number, text: string) => boolean) {
    this.explains = explains;
  }

  add(phase: Phase, ms: number): void {
    this.ms[phase] = (this.ms[phase] ?? 0) + ms;
  }

  keep(part: TimedPart): void {
    this.endedAt = performance.now();
    if (this.parts.length < MAX_PARTS) this.parts.push(part);
  }
}

const PHASES = stateKey<RequestPhases>('phases');

/** Returns the phases of a request; `undefined` where its location has no slow log. */
export function phasesOf({ main }: Exchange): RequestPhases | undefined {
  return main.state(PHASES);
}

/** Compiles `phasesOf` for a configuration: without a slow log, nothing is looked up. */
export function compilePhasesOf(build: { readonly keepsPhases: boolean }): typeof phasesOf {
  return build.keepsPhases ? phasesOf : () => undefined;
}

/** Keeps the phases of a request from now on. */
export function watchPhases(x: Exchange, explains: RequestPhases['explains']): void {
  if (x.main === x && !x.state(PHASES)) x.setState(PHASES, new RequestPhases(explains));
}
