import type { Bytes, Reply } from '../../../../redis/index.ts';
import { StoreLost, StoreRefused } from '../../store.ts';
import type { Script } from '../redis-scripts.ts';

/** A command, and for how long the store itself may hold it back. */
export interface Command {
  readonly name: string;
  readonly args: readonly Bytes[];
  readonly waitMs?: number;
}

export interface ScriptCall {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** Takes commands, and gives what `read` makes of their replies. All of them reject with `StoreLost` or `StoreRefused`. */
export interface Commands {
  ask<T>(command: Command, read: (reply: Reply) => T): Promise<T>;
  /** A server that does not know the script gets its text. */
  run<T>(call: ScriptCall, read: (reply: Reply) => T): Promise<T>;
}

/** The servers that have the keys of a store, whichever they are at the moment. */
export interface RedisServers {
  /** A command can only have keys of one hash tag, `{…}`. */
  readonly isSplit: boolean;
  /** Where commands about a key, and those with the same hash tag, are sent in their order. */
  writing(key: string): Commands;
  /** Where commands about a key can wait: the others are not held back. */
  reading(key: string): Commands;
  /** Each server that can be written to, as far as they can be asked. */
  all(): readonly Commands[];
  /** Only commands about these keys wait from now on. */
  readOnly(keys: ReadonlySet<string>): void;
  /** Closes the connections that read and opens them again, unless replies are arriving on them. */
  readAnew(): void;
  close(): void;
}

/** Stands for a server that there is not. */
export function lostCommands(reason: string): Commands {
  const lost = (): Promise<never> => Promise.reject(new StoreLost(reason));
  return { ask: lost, run: lost };
}

/** Runs a script. A store that has been restarted since, or another one, does not know it and gets its text. */
export async function runScript<T>(
  commands: Pick<Commands, 'ask'>,
  { script, keys, args }: ScriptCall,
  read: (reply: Reply) => T,
): Promise<T> {
  const rest = [String(keys.length), ...keys, ...args];
  try {
    return await commands.ask({ name: 'evalsha', args: [script.sha, ...rest] }, read);
  } catch (error) {
    if (!(error instanceof StoreRefused) || !error.message.startsWith('NOSCRIPT')) throw error;
  }
  return commands.ask({ name: 'eval', args: [script.text, ...rest] }, read);
}
