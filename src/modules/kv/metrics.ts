import type { Counters } from '../../zone/index.ts';
import type { CommandName, CommandRow } from './commands.ts';
import { COMMANDS } from './commands.ts';
import { existed } from './outcome.ts';
import type { Reply, StoreFault } from './store.ts';

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

/** Counts one command. To be called when it is given to the store; what it gives, when the store has answered. */
export type CommandMeter = () => (fault: StoreFault | undefined, reply: Reply) => void;

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
