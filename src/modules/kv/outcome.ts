import type { Build, VariableDefinition } from '../../contract/index.ts';
import { type Exchange, stateKey } from '../../http/index.ts';
import type { Counters } from '../../zone/index.ts';
import {
  type CommandName,
  type CommandRow,
  COMMANDS,
  type ConnectionState,
  type Reply,
  type StoreFault,
} from './commands.ts';

/** The values of the kv variables after a command; the variable of an absent member has no value. */
interface Outcome {
  readonly value?: string;
  readonly exists?: '0' | '1';
  readonly error?: 'kv_error' | 'connection_failed';
  readonly state: ConnectionState;
}

const OUTCOME = stateKey<Outcome>('kv outcome');

/** The variables by name, and how each reads its value. */
const OUTCOME_OF = {
  kv_last_value: 'value',
  kv_last_exists: 'exists',
  kv_last_error: 'error',
  kv_connection_state: 'state',
} as const satisfies Record<string, keyof Outcome>;

/** Tells whether the configuration uses one of the variables. */
export function keepsOutcome(build: Build): boolean {
  return Object.keys(OUTCOME_OF).some((name) => build.uses(name));
}

const CLIENT = stateKey<Exchange>('kv client');

/** Keeps the outcome of a copy for the client's own request. */
export function keepForClient(copy: Exchange, client: Exchange): void {
  copy.setState(CLIENT, client);
}

/** Keeps the outcome for the variables of this request. */
export function keepOutcome(x: Exchange, outcome: Outcome): void {
  (x.state(CLIENT) ?? x).setState(OUTCOME, outcome);
}

function outcomeOf(x: Exchange): Outcome | undefined {
  return x.state(OUTCOME);
}

/** Returns the outcome after a reply: a hit or a miss. */
export function replyOutcome(row: CommandRow, reply: Reply, state: ConnectionState): Outcome {
  const exists = existed(row, reply);
  return {
    ...(row.reply === 'text' && reply instanceof Buffer && { value: reply.toString() }),
    ...(exists !== undefined && { exists: exists ? '1' : '0' }),
    state,
  };
}

/** Returns the outcome after a fault. A timeout counts as a store that cannot be reached. */
export function faultOutcome(fault: StoreFault, state: ConnectionState): Outcome {
  if (fault.code === 'kv_error') return { exists: '0', error: 'kv_error', state };
  return { error: 'connection_failed', state };
}

/** Tells whether the key existed (for `mget`: one of them); `undefined` for `ping`. */
function existed(row: CommandRow, reply: Reply): boolean | undefined {
  if (row.reply === 'texts') return (reply as readonly unknown[]).some((item) => item !== null);
  if (!row.takesKey) return undefined;
  return row.reply === 'text' ? reply !== null : reply !== row.missing;
}

const SENT = { name: 'gw_kv_commands_total', help: 'Commands that were given to a store.' };
const TIME = {
  name: 'gw_kv_command_seconds',
  help: 'Time from a command to its reply.',
  scale: 'seconds',
} as const;
const ERRORS = {
  name: 'gw_kv_errors_total',
  help: 'Commands without a reply, and those that the store refused.',
};
const HITS = { name: 'gw_kv_hits_total', help: 'Commands on a key that was there.' };
const MISSES = { name: 'gw_kv_misses_total', help: 'Commands on a key that was not there.' };

/** Counts one command. Called when it is sent; the function returned is called with the result. */
type CommandMeter = () => (fault: StoreFault | undefined, reply: Reply) => void;

export function commandMeter(metrics: Counters, command: CommandName): CommandMeter {
  const labels = { command };
  const row: CommandRow = COMMANDS[command];
  const sent = metrics.counter(SENT, labels);
  const time = metrics.histogram(TIME, labels);
  const errors = {
    kv_error: metrics.counter(ERRORS, { ...labels, code: 'kv_error' }),
    connection_failed: metrics.counter(ERRORS, { ...labels, code: 'connection_failed' }),
    timeout: metrics.counter(ERRORS, { ...labels, code: 'timeout' }),
  };
  const [hits, misses] = [metrics.counter(HITS, labels), metrics.counter(MISSES, labels)];
  return () => {
    sent.add();
    const startedMs = performance.now();
    return (fault, reply) => {
      time.observe((performance.now() - startedMs) / 1000);
      if (fault) return errors[fault.code].add();
      const found = existed(row, reply);
      if (found !== undefined) (found ? hits : misses).add();
    };
  };
}

const variable = (summary: string, name: keyof typeof OUTCOME_OF): VariableDefinition => ({
  summary,
  compile: () => {
    const field = OUTCOME_OF[name];
    return (x) => outcomeOf(x)?.[field];
  },
});

/** Variables about the command of a location, for headers and logs. */
export const variables = {
  kv_last_value: variable('Value that get or hget found.', 'kv_last_value'),
  kv_last_exists: variable('1 when the key existed, 0 when not.', 'kv_last_exists'),
  kv_last_error: variable('kv_error or connection_failed when the command failed.', 'kv_last_error'),
  kv_connection_state: variable(
    'connected, degraded or error: the state of the store in this worker.',
    'kv_connection_state',
  ),
};
