import { hasLostObject, type WireError } from '../../../postgres/index.ts';
import { ConnectionLost } from '../session/index.ts';

/** Most repetitions of a read. Each one adds to the load that causes conflicts. */
export const MOST_REPEATS = { lost: 1, conflict: 3 } as const;

/**
 * SQLSTATEs of sessions that were ended by an administrator, a crash or a limit on idle sessions, or that lost their
 * prepared statements.
 */
const SESSION_LOST = /^(?:57P0\d|25P0[34]|26000)$/;

/** SQLSTATEs of a transaction that failed because of others: `serialization_failure` and `deadlock_detected`. */
const CONFLICT = /^40(?:001|P01)$/;

/**
 * The routines of PostgreSQL that compare the result of the body of an SQL function with its result type. While the
 * table of that type is being changed, they may find the body new and the type old.
 */
const BODY_CHECK = /^check_sql_(?:fn|stmt)_retval(?:_ext)?$/;

/** Returns why a read that failed may succeed when it is repeated; `undefined` if it may not. */
export function reasonToRepeat(error: WireError): keyof typeof MOST_REPEATS | undefined {
  if (error instanceof ConnectionLost) return error.late ? undefined : 'lost';
  const { code = '', severity, routine = '' } = error;
  if (severity === 'FATAL' || SESSION_LOST.test(code)) return 'lost';
  if (CONFLICT.test(code) || BODY_CHECK.test(routine) || hasOldPlan(error) || hasLostObject(error))
    return 'conflict';
  return undefined;
}

/**
 * Returns whether a statement was planned for columns that the rows of a function had before their table was changed
 * ("attribute 2 of type record has been dropped"). PostgreSQL notices it when the function has run, and keeps the plan.
 */
export function hasOldPlan({ routine }: WireError): boolean {
  return routine === 'CheckVarSlotCompatibility';
}

/** Shortest time before a renewal that follows one without success: an error with other causes must not cause many. */
const PAUSE_MS = 1_000;

/** Replaces all sessions of a database, because functions in PL/pgSQL keep the types of their variables in each one. */
export class Renewal {
  readonly #replaceAll: () => void;
  #atMs = -Infinity;
  #hasHelped = true;

  constructor(replaceAll: () => void) {
    this.#replaceAll = replaceAll;
  }

  /** Called when types have been replaced. */
  run(): void {
    this.#atMs = performance.now();
    this.#hasHelped = true;
    this.#replaceAll();
  }

  /** Called when a session that was opened since the last renewal has met a type that is gone. */
  tryAgain(): void {
    if (!this.#hasHelped && performance.now() - this.#atMs <= PAUSE_MS) return;
    this.run();
    this.#hasHelped = false;
  }

  /** Called when a request that had failed for a type that is gone has succeeded. */
  helped(): void {
    this.#hasHelped = true;
  }
}
