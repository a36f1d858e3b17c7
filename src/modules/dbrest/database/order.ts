import type { Traced } from '../../../http/index.ts';
import type { Isolation } from '../schema/index.ts';
import type { Leftovers, PreparedStatements, Verdict } from '../session/index.ts';
import type { StatementRuns } from '../statement-runs.ts';
import type { Estimation } from './cost-guard.ts';

/** The client of a read or write: an exchange. */
interface DatabaseClient extends Partial<Traced> {
  readonly aborted: boolean;
  /** A part of the response has been sent. */
  readonly done?: boolean;
  onAbort(listener: () => void): void;
}

/** The limits of a location. */
interface RunRules {
  readonly poolTimeoutMs: number;
  readonly poolQueue: number;
  readonly timeoutMs: number;
  /** `discard`: the session is reset before each request. */
  readonly poolReset: 'discard' | 'none';
  /** Most batches of a session that requests share; 0: they share none. */
  readonly pipelining: number;
  readonly preparedStatements: PreparedStatements;
}

/** The client of a batch, and how it is to run. */
export interface BatchOrder {
  readonly client: DatabaseClient;
  readonly rules: RunRules;
  /** The isolation level of the transaction; that of the session if absent. */
  readonly isolation?: Isolation | undefined;
  readonly leaves?: Leftovers | undefined;
  readonly verdict?: Verdict | undefined;
  /** Called before the promise rejects, with the index of the step that failed, if one did. */
  readonly failed?: ((step: number | undefined) => void) | undefined;
  /** The batch may share a session while its costs, which are known by this text, are small. */
  readonly shares?: string | undefined;
  /** The time zones that the batch sets. */
  readonly timeZones?: readonly string[] | undefined;
  /** Called with the milliseconds until a session was there. */
  readonly waited?: ((ms: number) => void) | undefined;
  /** Runs first in the session of the batch, and decides whether the batch runs. */
  readonly estimation?: Estimation | undefined;
  /** Counts each time that the batch has run. */
  readonly runs?: StatementRuns | undefined;
}

/** The client of gw's own reads. */
const NO_CLIENT: DatabaseClient = { aborted: false, onAbort: () => undefined };
/** Limits of gw's own reads. */
export const BACKGROUND_RULES: RunRules = {
  poolTimeoutMs: 10_000,
  poolQueue: Infinity,
  timeoutMs: 30_000,
  poolReset: 'discard',
  pipelining: 0,
  preparedStatements: 'off',
};
/** Limits of health checks. */
export const PROBE_RULES: RunRules = { ...BACKGROUND_RULES, poolTimeoutMs: 1_000 };

/** Such a read runs no user-defined code, so it leaves nothing in the session. */
export const INTERNAL_READ = { client: NO_CLIENT, rules: BACKGROUND_RULES, leaves: 'nothing' } as const;
