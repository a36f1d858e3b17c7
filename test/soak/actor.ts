import type { Random } from './random.ts';
import type { Stage } from './stage.ts';

/** One turn of an actor: what it decides with, and what it tells. */
export interface Turn {
  readonly random: Random;
  readonly stage: Stage;
  /** How long a health probe took. */
  probe(tookMs: number): void;
  /** Counts something that happened: `200`, `refused`. */
  count(kind: string): void;
  /** Something that must not happen; `evidence` is what was sent, configured or received. */
  violation(message: string, evidence?: string | Uint8Array): void;
}

/** Does the same kind of thing over and over. All that a turn does follows from its `random`. */
export interface Actor {
  readonly name: string;
  /** How many do it at a time; default 1. */
  readonly lanes?: number;
  /** Rest between two turns; default none. */
  readonly restMs?: number;
  /** A turn that lasts longer is a violation; default 20 s. */
  readonly limitMs?: number;
  act(turn: Turn): Promise<void>;
}

/** Sends what an honest client sends, and compares the response with what it must be. */
export type HonestRequest = (turn: Turn) => Promise<void>;

/** What is done to the gateway or to what stands behind it, one at a time. */
export interface Happening {
  readonly name: string;
  /** How often it comes in comparison with the others. */
  readonly weight: number;
  /** Whose requests may fail until it is over. */
  readonly hits: readonly Part[];
  /** Does it, and resolves when what it hit works again; throws with what is wrong when it does not. */
  happen(turn: Turn): Promise<void>;
}

/** `process`: every connection may break. */
export type Part = 'process' | 'worker' | 'database' | 'store';
