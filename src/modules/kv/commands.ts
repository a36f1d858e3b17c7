import type { Bytes, FlatReply as Reply } from '../../redis/index.ts';
import type { Versions } from './versions.ts';

export type { Bytes, Reply };

/** The supported commands. None blocks or changes the state of a connection, since requests share connections. */
export const COMMAND_NAMES = [
  'get',
  'set',
  'del',
  'incr',
  'decr',
  'expire',
  'mget',
  'exists',
  'ttl',
  'ping',
  'strlen',
  'hget',
  'hset',
  'hdel',
] as const;

/** A supported command, in lower case as in the configuration. */
export type CommandName = (typeof COMMAND_NAMES)[number];

/** The type of a command's reply: a string or nil, `OK`/`PONG`, an integer, or a list of strings and nils. */
export type ReplyShape = 'text' | 'status' | 'integer' | 'texts';

/** The mapping of one command to HTTP. Its arguments are key, field or keys, and body, as far as it has them. */
export interface CommandRow {
  readonly methods: readonly string[];
  readonly takesKey: boolean;
  readonly query?: 'field' | 'keys';
  /** If `seconds` is empty, `DEFAULT_EXPIRE` is used. */
  readonly body?: 'value' | 'seconds';
  readonly reply: ReplyShape;
  /** The integer that means that the key does not exist; absent if the command creates the key. */
  readonly missing?: '0' | '-2';
}

/** Seconds that `expire` sets if the request has no body. */
export const DEFAULT_EXPIRE = '60';

/** Maximum number of keys of one `mget`. */
export const MAX_KEYS = 16;

const READ = ['GET', 'HEAD'];
const WRITE = ['POST'];
const REMOVE = ['POST', 'DELETE'];

/** The commands with their methods, arguments and replies. */
export const COMMANDS: { readonly [name in CommandName]: CommandRow } = {
  get: { methods: READ, takesKey: true, reply: 'text' },
  set: { methods: WRITE, takesKey: true, body: 'value', reply: 'status' },
  del: { methods: REMOVE, takesKey: true, reply: 'integer', missing: '0' },
  incr: { methods: WRITE, takesKey: true, reply: 'integer' },
  decr: { methods: WRITE, takesKey: true, reply: 'integer' },
  expire: { methods: WRITE, takesKey: true, body: 'seconds', reply: 'integer', missing: '0' },
  mget: { methods: READ, takesKey: false, query: 'keys', reply: 'texts' },
  exists: { methods: READ, takesKey: true, reply: 'integer', missing: '0' },
  ttl: { methods: READ, takesKey: true, reply: 'integer', missing: '-2' },
  ping: { methods: READ, takesKey: false, reply: 'status' },
  strlen: { methods: READ, takesKey: true, reply: 'integer', missing: '0' },
  hget: { methods: READ, takesKey: true, query: 'field', reply: 'text' },
  hset: { methods: WRITE, takesKey: true, query: 'field', body: 'value', reply: 'integer' },
  hdel: { methods: REMOVE, takesKey: true, query: 'field', reply: 'integer', missing: '0' },
};

/** A command that is sent: one of a location, or `pttl`, which tells how long a reply may be kept. */
export type StoreCommand = CommandName | 'pttl';

/** Returns the type of a command's reply. */
export function replyShapeOf(name: StoreCommand): ReplyShape {
  return name === 'pttl' ? 'integer' : COMMANDS[name].reply;
}

/** The value of `$kv_connection_state` in this worker. */
export type ConnectionState = 'connected' | 'degraded' | 'error';

/** The reason for a missing reply; `text` is for the error log only. `kv_error`: an error reply of the store. */
export interface StoreFault {
  readonly code: 'kv_error' | 'connection_failed' | 'timeout';
  readonly text: string;
}

/** Called exactly once per command, at once or later; `reply` is valid only without a fault. */
export type Done = (fault: StoreFault | undefined, reply: Reply) => void;

/** A key-value store in one worker. A command is sent at most once. */
export interface Store {
  /** Its name in log lines, without secrets. */
  readonly label: string;
  /** Differs by store, database and login; contains no password. */
  readonly identity: string;
  /** The versions of the keys, which writes change; `undefined` if nothing is cached. */
  readonly versions: Versions | undefined;
  readonly state: ConnectionState;
  /**
   * To be called for each request that fails because the store gives no reply. Returns true if the log has lines about the
   * outage that count the request, so that it needs no line of its own.
   */
  counts(fault: StoreFault): boolean;
  run(command: StoreCommand, args: readonly Bytes[], done: Done): void;
  close(): Promise<void>;
}
