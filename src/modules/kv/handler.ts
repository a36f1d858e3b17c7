import type { Build } from '../../contract/index.ts';
import {
  beginSpan,
  failRequest,
  type Exchange,
  type Handler,
  compilePhasesOf,
  type RequestPhases,
} from '../../http/index.ts';
import { HostRefused } from '../../upstream/index.ts';
import { type ErrorCode, JSON_TYPE, printable, replyBytes, replyText, sendError } from './response.ts';
import {
  type Bytes,
  type CommandRow,
  COMMANDS,
  DEFAULT_EXPIRE,
  MAX_KEYS,
  type Reply,
  type Store,
  type StoreFault,
} from './commands.ts';
import type { Caching } from './caching/index.ts';
import type { KvConfig } from './directives.ts';
import {
  commandMeter,
  faultOutcome,
  keepForClient,
  keepOutcome,
  keepsOutcome,
  replyOutcome,
} from './outcome.ts';

/** Returns the first parameter of that name in a raw query, still encoded; `undefined` if there is none. */
export function rawParameter(args: string, name: string): string | undefined {
  let start = 0;
  while (start <= args.length) {
    const next = args.indexOf('&', start);
    const end = next < 0 ? args.length : next;
    if (args.startsWith(name, start) && args[start + name.length] === '=') {
      return args.slice(start + name.length + 1, end);
    }
    start = end + 1;
  }
  return undefined;
}

/**
 * Percent-decodes to text, or to bytes if the result is not UTF-8. As in nginx, a `%` without two hex digits stands for
 * itself, and `+` is not a blank.
 */
export function percentDecode(raw: string): Bytes {
  if (!raw.includes('%')) return raw;
  try {
    return decodeURIComponent(raw);
  } catch {
    const bytes = Buffer.from(raw)
      .toString('latin1')
      .replace(/%([0-9a-fA-F]{2})/g, hexToByte);
    return Buffer.from(bytes, 'latin1');
  }
}

function hexToByte(_: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}

/**
 * Returns the store for a request; `undefined` if its address is refused, which has been logged. Throws, or rejects
 * with, a `HostRefused`.
 */
export type StoreSource = (x: Exchange) => Store | undefined | Promise<Store | undefined>;

/** The parts that a location runs its command with. */
interface CommandParts {
  readonly source: StoreSource;
  readonly caching: Caching | undefined;
  /** The state of tracking, see `Tracking.state`. */
  readonly changes: () => 'live' | 'down' | 'untracked';
}

/** Compiles the content handler of `kv_pass`: one configured command per location. */
export function compileCommand(
  config: KvConfig,
  { source, caching, changes }: CommandParts,
  build: Build,
): Handler {
  const argsOf = compileArgs(config, build);
  const execute = compileExecute(config, { source, caching, changes }, build);
  const { body } = COMMANDS[config.command];

  return (x) => {
    const args = argsOf(x);
    if (args === undefined) return undefined;
    if (!body) return execute(x, args);
    return readBody(x, args, config).then((all) => (all ? execute(x, all) : undefined));
  };
}

/** Compiles what a request gives to the command, except its body. `undefined`: an error has been sent. */
export function compileArgs(config: KvConfig, build: Build): (x: Exchange) => readonly Bytes[] | undefined {
  const row = COMMANDS[config.command];
  const allow = row.methods.join(', ');
  const readKey = config.key ? build.value(config.key) : (x: Exchange) => x.uri.slice(1);
  return (x) => {
    if (!row.methods.includes(x.method)) {
      x.response.setHeader('Allow', allow);
      sendError(x, 'method_not_allowed');
      return undefined;
    }
    const args = readArgs(x, row, readKey);
    if (typeof args !== 'string') return args;
    sendError(x, args);
    return undefined;
  };
}

/** Responds to a request that names a store which is not allowed. */
export function refuseHost(x: Exchange, error: unknown): void {
  if (!(error instanceof HostRefused)) throw error;
  x.writeLog(`kv: ${error.message} in "kv_pass"`);
  sendError(x, 'host_not_allowed');
}

type Execute = (x: Exchange, args: readonly Bytes[]) => void | Promise<void>;

/** Returns key, field or keys in the order of the command, or the error code if one is missing. */
function readArgs(x: Exchange, row: CommandRow, readKey: (x: Exchange) => string): Bytes[] | ErrorCode {
  const args: Bytes[] = [];
  if (row.takesKey) {
    const key = readKey(x);
    if (key === '') return 'empty_key';
    args.push(key);
  }
  if (row.query === 'field') {
    const field = rawParameter(x.args, 'field');
    if (!field) return 'missing_field';
    args.push(percentDecode(field));
  } else if (row.query === 'keys') {
    const list = rawParameter(x.args, 'keys');
    if (!list) return 'missing_keys';
    const keys = list.split(',');
    if (keys.length > MAX_KEYS) return 'too_many_keys';
    if (keys.includes('')) return 'empty_key';
    args.push(...keys.map(percentDecode));
  }
  return args;
}

/** Adds the body to the arguments; `undefined` if the response has been sent already. */
async function readBody(x: Exchange, args: readonly Bytes[], config: KvConfig): Promise<Bytes[] | undefined> {
  const body = await x.readBody(config.maxValueBytes);
  if (body === undefined) return undefined;
  if (body.length > 0) return [...args, body];
  if (COMMANDS[config.command].body === 'seconds') return [...args, DEFAULT_EXPIRE];
  sendError(x, 'empty_body');
  return undefined;
}

/** Finds the store of a request and runs the command. Returns a promise only if a name has to be resolved first. */
function compileExecute(config: KvConfig, { source, caching, changes }: CommandParts, build: Build): Execute {
  const ask = compileRun(config, build);
  const run = (x: Exchange, args: readonly Bytes[], store: Store | undefined): void | Promise<void> => {
    if (!caching || !store) return ask(x, args, store);
    const asked = { args, store, changes, isBase64: asksForBase64(x) };
    return caching.serve(x, asked, (made) => {
      if (made !== x) keepForClient(made, x);
      ask(made, args, store);
    });
  };
  const keeps = keepsOutcome(build);
  const refuse = (x: Exchange, error: unknown): void => {
    if (keeps) keepOutcome(x, { exists: '0', error: 'connection_failed', state: 'error' });
    refuseHost(x, error);
  };
  return (x, args) => {
    try {
      const store = source(x);
      if (!(store instanceof Promise)) return run(x, args, store);
      return store.then(
        (found) => (x.done ? undefined : run(x, args, found)),
        (error: unknown) => refuse(x, error),
      );
    } catch (error) {
      return refuse(x, error);
    }
  };
}

const NO_STORE: StoreFault = { code: 'connection_failed', text: 'no store' };

/** Has the slow log learn of a command when it is counted. */
function watched(phases: RequestPhases, command: string, count: Count): Count {
  const startedMs = performance.now();
  return (fault, reply) => {
    const ms = performance.now() - startedMs;
    phases.add('query', ms);
    phases.keep({ kind: 'kv', ms, text: command });
    count(fault, reply);
  };
}

type Count = ReturnType<ReturnType<typeof commandMeter>>;

type Run = (x: Exchange, args: readonly Bytes[], store: Store | undefined) => void;

function asksForBase64({ args }: Exchange): boolean {
  return args !== '' && rawParameter(args, 'encoding') === 'base64';
}

type Fail = (x: Exchange, fault: StoreFault, store: Store | undefined) => void;

/** Responds to a request whose command has no result. The log tells which request it was, unless many fail. */
function compileFail(command: string, keeps: boolean): Fail {
  return (x, fault, store) => {
    if (keeps) keepOutcome(x, faultOutcome(fault, store?.state ?? 'error'));
    if (store) {
      const level = store.counts(fault) ? 'info' : 'error';
      x.writeLog(`kv: "${command}" failed on ${store.label}: ${printable(fault.text)}`, level);
    }
    sendError(x, fault.code);
  };
}

/** Runs the command and sends the response, without a promise: every request takes this path. */
function compileRun({ command, maxValueBytes }: KvConfig, build: Build): Run {
  const row = COMMANDS[command];
  const [keeps, meter] = [keepsOutcome(build), commandMeter(build.metrics, command)];
  const phasesOf = compilePhasesOf(build);
  const writes = !row.methods.includes('GET');

  const fail = compileFail(command, keeps);

  const succeed = (x: Exchange, reply: Reply, store: Store): void => {
    if (replyBytes(row.reply, reply) > maxValueBytes) {
      if (keeps) keepOutcome(x, { exists: '1', error: 'kv_error', state: store.state });
      return sendError(x, 'value_too_large');
    }
    if (keeps) keepOutcome(x, replyOutcome(row, reply, store.state));
    x.send(200, JSON_TYPE, replyText(row.reply, reply, asksForBase64(x) ? 'base64' : 'utf8'));
  };

  return (x, args, store) => {
    if (!store) return fail(x, NO_STORE, store);
    const phases = phasesOf(x);
    const count = phases ? watched(phases, command, meter()) : meter();
    const span = beginSpan(x, command, 'client')?.set('db.system', 'redis');
    store.run(command, args, (fault, reply) => {
      count(fault, reply);
      span?.set('db.operation.name', command).end(fault !== undefined);
      // A write that failed may have been executed nevertheless.
      if (writes) store.versions?.change(args[0] as Bytes);
      try {
        if (fault) fail(x, fault, store);
        else succeed(x, reply, store);
      } catch (error) {
        failRequest(x, error);
      }
    });
  };
}
