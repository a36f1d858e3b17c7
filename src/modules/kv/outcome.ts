import type { Build } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import type { CommandRow } from './commands.ts';
import type { ConnectionState, Reply, StoreFault } from './store.ts';

/** What the four variables say of this request's command; absent members are variables without a value. */
export interface Outcome {
  readonly value?: string;
  readonly exists?: '0' | '1';
  readonly error?: 'kv_error' | 'connection_failed';
  readonly state: ConnectionState;
}

const OUTCOME = Symbol('kv outcome');

/** The variables, by name, and where each reads its value. */
export const OUTCOME_OF = {
  kv_last_value: 'value',
  kv_last_exists: 'exists',
  kv_last_error: 'error',
  kv_connection_state: 'state',
} as const satisfies Record<string, keyof Outcome>;

/** Whether some configured text uses one of the variables. */
export function keepsOutcome(build: Build): boolean {
  return Object.keys(OUTCOME_OF).some((name) => build.uses(name));
}

/** Keeps what the variables say of this request. */
export function keepOutcome(x: Exchange, outcome: Outcome): void {
  x.setState(OUTCOME, outcome);
}

export function outcomeOf(x: Exchange): Outcome | undefined {
  return x.state<Outcome>(OUTCOME);
}

/** After a good reply: the columns "hit" and "miss" of the contract's table. */
export function replyOutcome(row: CommandRow, reply: Reply, state: ConnectionState): Outcome {
  const exists = existed(row, reply);
  return {
    ...(row.reply === 'text' && reply instanceof Buffer && { value: reply.toString() }),
    ...(exists !== undefined && { exists: exists ? '1' : '0' }),
    state,
  };
}

/** After a fault. A store that is merely late counts as one that cannot be reached. */
export function faultOutcome(fault: StoreFault, state: ConnectionState): Outcome {
  if (fault.code === 'kv_error') return { exists: '0', error: 'kv_error', state };
  return { error: 'connection_failed', state };
}

/** Whether the key (for `mget`: one of them) was there; `undefined` for `ping`, which has none. */
export function existed(row: CommandRow, reply: Reply): boolean | undefined {
  if (row.reply === 'texts') return (reply as readonly unknown[]).some((item) => item !== null);
  if (!row.takesKey) return undefined;
  return row.reply === 'text' ? reply !== null : reply !== row.missing;
}
