import type { Step } from './batch.ts';

/** What requests may leave in a session. */
export type Leftovers = 'nothing' | 'settings' | 'anything';

const BY_AMOUNT: readonly Leftovers[] = ['nothing', 'settings', 'anything'];

/** The more of two. */
export function more(one: Leftovers, other: Leftovers): Leftovers {
  return BY_AMOUNT.indexOf(one) < BY_AMOUNT.indexOf(other) ? other : one;
}

/** `RESET ALL` does not touch the role. */
const NO_ROLE = `pg_catalog.set_config('role', 'none', false)`;
const NO_LOCKS = 'pg_catalog.pg_advisory_unlock_all()';

/**
 * The statements that rid a session of it, in front of the next request and in its transaction: that costs no round trip,
 * and a request that fails leaves nothing half done. What `DISCARD ALL` discards, but for the plans, which cost the most
 * and hold nothing of a request. `own`: a call that makes the session's own settings again.
 */
export function compileReset(own: readonly string[]): (leftovers: Leftovers) => readonly Step[] {
  const calls = [NO_ROLE, ...own];
  const settings = ['reset all', selectNothing(calls)].map(silent);
  const all = [
    'close all',
    'set session authorization default',
    'reset all',
    selectNothing([...calls, NO_LOCKS]),
    'unlisten *',
    'discard temp',
    'discard sequences',
  ].map(silent);
  return (leftovers) => (leftovers === 'nothing' ? [] : leftovers === 'settings' ? settings : all);
}

/** Calls functions whose results nobody needs. */
function selectNothing(calls: readonly string[]): string {
  return `select from (select ${calls.join(', ')}) s`;
}

function silent(text: string): Step {
  return { statement: { text, values: [] }, silent: true };
}
