import type { CommandName } from './commands.ts';

/** What `$kv_connection_state` says of a store in this worker. */
export type ConnectionState = 'connected' | 'degraded' | 'error';

/** A key, field or value on its way to the store: text, or bytes that are not UTF-8. */
export type Bytes = string | Buffer;

/** A string, nil, an integer as its decimal text, or the list of `mget`. */
export type Reply = Buffer | string | null | readonly (Buffer | null)[];

/** Why there is no reply; `text` goes to the error log only. `kv_error`: the store itself refused. */
export interface StoreFault {
  readonly code: 'kv_error' | 'connection_failed' | 'timeout';
  readonly text: string;
}

/** Called exactly once per command, at once or later; `reply` counts only without a fault. */
export type Done = (fault: StoreFault | undefined, reply: Reply) => void;

/** A key-value store as one worker sees it. A command is sent at most once. */
export interface Store {
  /** As log lines name it, without secrets. */
  readonly label: string;
  readonly state: ConnectionState;
  run(command: CommandName, args: readonly Bytes[], done: Done): void;
  close(): Promise<void>;
}
