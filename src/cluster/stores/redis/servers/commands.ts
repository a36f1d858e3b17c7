import type { Bytes, Reply } from '../../../../redis/index.ts';
import { StoreLost, StoreRefused } from '../../store.ts';
import type { Script } from '../redis-scripts.ts';

/** A command. `waitMs` is how long the store may wait before it replies. */
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

/** Takes commands, and returns what `read` makes of their replies. All reject with `StoreLost` or `StoreRefused`. */
export interface Commands {
  ask<T>(command: Command, read: (reply: Reply) => T): Promise<T>;
  /** Runs a script; a server that does not know it gets its text. */
  run<T>(call: ScriptCall, read: (reply: Reply) => T): Promise<T>;
}

/** The servers that have the keys of a store at the moment. */
export interface RedisServers {
  /** Keys are spread over several servers: one command can only have keys with the same hash tag, `{…}`. */
  readonly isSplit: boolean;
  /** Takes commands about a key. Those about keys with the same hash tag are sent in their order. */
  writing(key: string): Commands;
  /** Takes commands about a key that may wait, without delaying others. */
  reading(key: string): Commands;
  /** All servers that can be written to and are connected. */
  all(): readonly Commands[];
  /** From now on, only commands about these keys wait; connections for other keys are closed. */
  readOnly(keys: ReadonlySet<string>): void;
  /** Closes the connections that read and opens them again, unless replies are arriving on them. */
  restartReading(): void;
  close(): void;
}

/** Commands that reject, for a server that is not connected or not known. */
export function lostCommands(reason: string): Commands {
  const lost = (): Promise<never> => Promise.reject(new StoreLost(reason));
  return { ask: lost, run: lost };
}

/** Runs a script. A store that was restarted, or that replaced another one, does not know it and gets its text. */
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
