import type { Isolation } from '../schema/index.ts';
import type { RunStep } from './batch.ts';

/**
 * What requests may leave behind in a session; `sequences`: the last values of sequences. `settings`: what a function can leave in a
 * read-only transaction, which are also locks, cursors and channels.
 */
export type Leftovers = 'nothing' | 'sequences' | 'settings' | 'anything';

/** What two requests together may leave behind. */
export function more(one: Leftovers, other: Leftovers): Leftovers {
  if (one === other || other === 'nothing') return one;
  return one === 'nothing' ? other : 'anything';
}

/** `RESET ALL` does not reset the role. */
const NO_ROLE = `pg_catalog.set_config('role', 'none', false)`;
const NO_LOCKS = 'pg_catalog.pg_advisory_unlock_all()';
const NO_SEQUENCES = 'discard sequences';
const NO_CURSORS = 'close all';
const NO_CHANNELS = 'unlisten *';
/** Those that a function has prepared in SQL. `deallocate all` would close those of the session, too. */
const NO_STATEMENTS = `do $$ declare own text; begin
  for own in select name from pg_catalog.pg_prepared_statement() where from_sql loop
    execute pg_catalog.format('deallocate %I', own);
  end loop;
end $$`;

/**
 * Compiles the reset of a session. It runs before the statements of the next request, in their transaction, so it costs no
 * round trip and a failed request leaves nothing half reset. It corresponds to `DISCARD ALL` without the plans, which are
 * expensive and hold no data of requests.
 */
function compileReset({ own, isPooled }: Resetting): (leftovers: Leftovers) => readonly RunStep[] {
  const calls = [NO_ROLE, ...own, NO_LOCKS];
  const settings = [NO_CURSORS, 'reset all', selectNothing(calls), NO_CHANNELS].map(silent);
  const sequences = [silent(NO_SEQUENCES)];
  const all = [
    NO_CURSORS,
    'set session authorization default',
    'reset all',
    selectNothing(calls),
    NO_CHANNELS,
    'discard temp',
    NO_SEQUENCES,
    ...(isPooled ? [] : [NO_STATEMENTS]),
  ].map(silent);
  const resets = { nothing: [], sequences, settings, anything: all };
  return (leftovers) => resets[leftovers];
}

/** Calls functions and discards their results. */
function selectNothing(calls: readonly string[]): string {
  return `select from (select ${calls.join(', ')}) s`;
}

function silent(text: string): RunStep {
  return { statement: { text, values: [] }, silent: true };
}

/** What the statements before those of a request do. */
interface LeadTasks {
  /** The level of the transaction; that of the session if absent. */
  readonly isolation: Isolation | undefined;
  /** What has to be reset. */
  readonly leftovers: Leftovers;
  /** All statements of the session, those in functions too, are planned anew. */
  readonly replans: boolean;
}

interface Resetting {
  /** SQL calls that restore the session's own settings. */
  readonly own: readonly string[];
  /** It is done before each request, so it is no more than that is worth. */
  readonly isPooled: boolean;
}

/** Compiles the statements before those of a request. */
export function compileLead(resetting: Resetting): (tasks: LeadTasks) => readonly RunStep[] {
  const reset = compileReset(resetting);
  return ({ isolation, leftovers, replans }) => {
    const steps = replans ? [NO_PLANS, ...reset(leftovers)] : reset(leftovers);
    return isolation ? [ISOLATE[isolation], ...steps] : steps;
  };
}

const NO_PLANS = silent('discard plans');

/**
 * Statements that set the isolation level of a transaction. They have to come before all that read anything, even before a
 * `select set_config(…)`. PostgreSQL begins each transaction with the default again, so nothing is left behind; `set local`
 * would do the same, but writes a warning outside of a transaction block.
 */
const ISOLATE: Readonly<Record<Isolation, RunStep>> = {
  serializable: silent(`set transaction_isolation = 'serializable'`),
  'repeatable read': silent(`set transaction_isolation = 'repeatable read'`),
  'read committed': silent(`set transaction_isolation = 'read committed'`),
  'read uncommitted': silent(`set transaction_isolation = 'read uncommitted'`),
};
