import { hasLostObject, type WireError } from '../../../postgres/index.ts';
import { ConnectionLost } from '../session/index.ts';

/** How often a read is repeated; with each try in vain the load grows that causes conflicts. */
export const MOST_REPEATS = { lost: 1, conflict: 3 } as const;

/**
 * SQLSTATEs of sessions that were ended by an administrator, a crash or a limit on idle sessions, or that lost their
 * prepared statements.
 */
const SESSION_LOST = /^(?:57P0\d|25P0[34]|26000)$/;

/** SQLSTATEs of a transaction that failed because of others: `serialization_failure` and `deadlock_detected`. */
const CONFLICT = /^40(?:001|P01)$/;

/**
 * The routines of PostgreSQL that compare what the body of an SQL function returns with its result type. While the table of that
 * type is being changed they may find the body new and the type old.
 */
const BODY_CHECK = /^check_sql_(?:fn|stmt)_retval(?:_ext)?$/;

/** Why a read that failed may succeed when it is repeated; `undefined` if it may not. */
export function reasonToRepeat(error: WireError): keyof typeof MOST_REPEATS | undefined {
  if (error instanceof ConnectionLost) return error.late ? undefined : 'lost';
  const { code = '', severity, routine = '' } = error;
  if (severity === 'FATAL' || SESSION_LOST.test(code)) return 'lost';
  if (CONFLICT.test(code) || BODY_CHECK.test(routine) || hasOldPlan(error) || hasLostObject(error))
    return 'conflict';
  return undefined;
}

/**
 * A statement was planned for columns that the rows of a function had before their table was changed ("attribute 2 of type record
 * has been dropped", "has wrong type"). PostgreSQL does not plan it again by itself, and notices only when the function has run.
 */
export function hasOldPlan({ routine }: WireError): boolean {
  return routine === 'CheckVarSlotCompatibility';
}

/** How soon another renewal may follow one that has not helped: what has other causes must not replace the sessions all the time. */
const PAUSE_MS = 1_000;

/** Replaces all sessions of a database. Functions in PL/pgSQL keep the types of their variables for as long as a session lasts. */
export class Renewal {
  readonly #replaceAll: () => void;
  #atMs = -Infinity;
  #hasHelped = true;

  constructor(replaceAll: () => void) {
    this.#replaceAll = replaceAll;
  }

  /** Types have been replaced. */
  run(): void {
    this.#atMs = performance.now();
    this.#hasHelped = true;
    this.#replaceAll();
  }

  /** A session that was opened since the last renewal has met a type that is gone. */
  tryAgain(): void {
    if (!this.#hasHelped && performance.now() - this.#atMs <= PAUSE_MS) return;
    this.run();
    this.#hasHelped = false;
  }

  /** A request that had failed for a type that is gone has succeeded since. */
  helped(): void {
    this.#hasHelped = true;
  }
}
