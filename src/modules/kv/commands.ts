/** The fourteen commands. None of them blocks or changes a connection's state: connections are shared by requests. */
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

/** One of the fourteen, lower case as in the configuration and in the specification's table. */
export type CommandName = (typeof COMMAND_NAMES)[number];

/** What a store answers to a command: a string or nil, `OK`/`PONG`, an integer, or a list of strings and nils. */
export type ReplyShape = 'text' | 'status' | 'integer' | 'texts';

/** How HTTP reaches one command. The store gets key, field or keys, and body, in this order, as far as they are there. */
export interface CommandRow {
  readonly methods: readonly string[];
  readonly takesKey: boolean;
  readonly query?: 'field' | 'keys';
  /** `seconds` may be empty and then means `DEFAULT_EXPIRE`. */
  readonly body?: 'value' | 'seconds';
  readonly reply: ReplyShape;
  /** The integer that says "there was no such key"; absent where the command makes the key exist. */
  readonly missing?: '0' | '-2';
}

/** Seconds that `expire` sets when the request has no body (specification, section 8). */
export const DEFAULT_EXPIRE = '60';

/** Most keys of one `mget` (specification, section 8). */
export const MAX_KEYS = 16;

const READ = ['GET', 'HEAD'];
const WRITE = ['POST'];
const REMOVE = ['POST', 'DELETE'];

/** Specification, section 4.3, and the table of the contract page. */
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
