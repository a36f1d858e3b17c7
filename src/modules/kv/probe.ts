import type { LiveProblem, LiveScope } from '../../contract/index.ts';
import { type Endpoint, endpointsOf, RedisConnection, type Reply, ReplyError } from '../../redis/index.ts';
import { unreachableReason } from '../../system/index.ts';
import { COMMANDS } from './commands.ts';
import type { KvConfig } from './directives.ts';
import { TickClock } from './outstanding.ts';

type Problem = LiveProblem<KvConfig>;

/** The result of a test login to one server of a store. */
type ProbeResult =
  { readonly unreachable: string } | { readonly refused: string } | { readonly readOnly: boolean };

/** Tests what only a running store can tell: whether it can be reached, accepts the login, and accepts writes. */
export async function probeStore(
  { pass, command, connectTimeoutMs }: KvConfig,
  live: LiveScope,
): Promise<readonly Problem[]> {
  if (!pass || pass.kind === 'embedded' || pass.kind === 'variable') return [];
  const timeoutMs = Math.min(connectTimeoutMs, live.timeoutMs);
  const endpoints = endpointsOf(pass, (name) => live.upstream(name));
  const results = await Promise.all(
    endpoints.map((endpoint) =>
      live.once(`kv ${JSON.stringify(endpoint)}`, () => askStore(endpoint, timeoutMs)),
    ),
  );
  return results.flatMap((result) => problemOf(result, command) ?? []);
}

function problemOf(result: ProbeResult, command: KvConfig['command']): Problem | undefined {
  if ('unreachable' in result) {
    const message = `the store cannot be reached: ${result.unreachable}`;
    return { rule: 'store-unreachable', field: 'pass', message };
  }
  if ('refused' in result) {
    return {
      rule: 'store-refused',
      field: 'pass',
      message: `the store refuses the login: ${result.refused}`,
    };
  }
  if (!result.readOnly || COMMANDS[command].methods.includes('GET')) return undefined;
  const message = `the store is a read-only replica, and "kv_command ${command}" writes`;
  return { rule: 'store-read-only', field: 'command', message };
}

/** Maximum length of the reply to INFO. */
const MAX_REPLY_BYTES = 65_536;

/** Connects, sends the commands and closes the connection; never rejects. */
function askStore(endpoint: Endpoint, timeoutMs: number): Promise<ProbeResult> {
  return new Promise((resolve) => {
    const end = (result: ProbeResult): void => {
      clearTimeout(deadline);
      connection.close();
      resolve(result);
    };
    const fail = (reason: string): void => end(faultOf(reason));
    const ask = (name: string, args: readonly string[], replied: (reply: Reply | ReplyError) => void): void =>
      connection.send({ name, args, replied, failed: fail, unsent: fail, next: undefined });
    const connection = new RedisConnection(
      endpoint,
      { clock: new TickClock(), connectTimeoutMs: timeoutMs, maxReplyBytes: MAX_REPLY_BYTES },
      {
        up: () => {
          ask('ping', [], (reply) => reply instanceof ReplyError && fail(reply.message));
          ask('info', ['replication'], (reply) => end({ readOnly: isReadOnly(reply) }));
        },
        down: (_, reason) => fail(reason),
      },
    );
    const deadline = setTimeout(() => end({ unreachable: 'no response in time' }), 2 * timeoutMs);
  });
}

/** If the user may not run INFO, the store is not taken for a replica. */
function isReadOnly(reply: Reply | ReplyError): boolean {
  const info = reply instanceof Buffer ? reply.toString() : '';
  return /^role:slave\b/m.test(info) && /^slave_read_only:1\b/m.test(info);
}

/** Gives the result for an error of the store, or for a failed connection. */
function faultOf(message: string): ProbeResult {
  if (message.startsWith('NOAUTH')) return { refused: 'it wants a password' };
  if (message.startsWith('WRONGPASS') || /invalid password/i.test(message))
    return { refused: 'wrong password' };
  if (message.startsWith('NOPERM')) return { refused: 'the user may not use it' };
  if (message.endsWith('does not answer')) return { unreachable: 'no response in time' };
  const [code = ''] = /\bE[A-Z_]+\b/.exec(message) ?? [];
  // Text of a reply must not be shown; other faults have a code or are gw's own messages.
  return {
    unreachable:
      unreachableReason({ code, message }) ?? (/^[A-Z]+ /.test(message) ? 'it is not ready' : message),
  };
}
