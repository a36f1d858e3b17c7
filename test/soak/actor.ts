import type { Random } from './random.ts';
import type { Stage } from './stage.ts';

/** One turn of an actor: the source of its decisions, and where it reports to. */
export interface Turn {
  readonly random: Random;
  readonly stage: Stage;
  /** How long a health probe took. */
  probe(tookMs: number): void;
  /** Counts something that happened: `200`, `refused`. */
  count(kind: string): void;
  /** Reports something that must not happen; `evidence` is what was sent, configured or received. */
  violation(message: string, evidence?: string | Uint8Array): void;
}

/** Repeats one kind of action. All that a turn does follows from its `random`. */
export interface Actor {
  readonly name: string;
  /** Number of lanes that run at a time; default 1. */
  readonly lanes?: number;
  /** Pause between two turns; default none. */
  readonly restMs?: number;
  /** A turn that lasts longer is a violation; default 20 s. */
  readonly limitMs?: number;
  act(turn: Turn): Promise<void>;
}

/** Sends a request of an honest client, and compares the response with the expected one. */
export type HonestRequest = (turn: Turn) => Promise<void>;

/** A disturbance of the gateway or of what stands behind it; only one runs at a time. */
export interface Happening {
  readonly name: string;
  /** How often it happens in comparison with the others. */
  readonly weight: number;
  /** The parts whose requests may fail until it is over. */
  readonly hits: readonly Part[];
  /** Causes it, and resolves when the part works again; throws with what is wrong when it does not. */
  happen(turn: Turn): Promise<void>;
}

/** `process`: every connection may break. */
export type Part = 'process' | 'worker' | 'database' | 'store';
