import type { LiveProblem, LiveScope } from '../../contract/index.ts';
import { type Endpoint, RedisClient, RedisRefused } from '../../redis/index.ts';
import { unreachableReason } from '../../system/index.ts';
import { COMMANDS } from './commands.ts';
import type { KvConfig } from './directives.ts';
import { storeEndpoints } from './tls.ts';

type Problem = LiveProblem<KvConfig>;

/** The result of a test login to one server of a store. */
type ProbeResult =
  { readonly unreachable: string } | { readonly refused: string } | { readonly readOnly: boolean };

/** Tests whether the store can be reached, accepts the login, and accepts writes. */
export async function probeStore(
  { pass, command, connectTimeoutMs, ...config }: KvConfig,
  live: LiveScope,
): Promise<readonly Problem[]> {
  if (!pass || pass.kind === 'embedded' || pass.kind === 'variable') return [];
  const timeoutMs = Math.min(connectTimeoutMs, live.timeoutMs);
  const endpoints = storeEndpoints(pass, config, (name) => live.upstream(name));
  const results = await Promise.all(
    endpoints.map((endpoint) =>
      live.once(`kv ${JSON.stringify(endpoint)}`, () => askStore(endpoint, timeoutMs)),
    ),
  );
  return results.flatMap(
    (result, index) => unreachableProblem(result, endpoints[index]) ?? problemOf(result, command) ?? [],
  );
}

function unreachableProblem(result: ProbeResult, endpoint: Endpoint | undefined): Problem | undefined {
  if (!('unreachable' in result) || !endpoint) return undefined;
  const message = `the store at ${endpointText(endpoint)} cannot be reached: ${result.unreachable}`;
  return { rule: 'store-unreachable', field: 'pass', message };
}

function endpointText(endpoint: Endpoint): string {
  if (endpoint.kind === 'unix') return `unix:${endpoint.path}`;
  const { host, port } = endpoint;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function problemOf(result: ProbeResult, command: KvConfig['command']): Problem | undefined {
  if ('unreachable' in result) return undefined;
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
async function askStore(endpoint: Endpoint, timeoutMs: number): Promise<ProbeResult> {
  const client = new RedisClient(endpoint, { connectTimeoutMs: timeoutMs, maxReplyBytes: MAX_REPLY_BYTES });
  const deadline = setTimeout(() => client.close('no response in time'), 2 * timeoutMs);
  try {
    await client.ready();
    await client.ask('ping', []);
    return { readOnly: await isReadOnly(client) };
  } catch (error) {
    return faultOf((error as Error).message);
  } finally {
    clearTimeout(deadline);
    client.close();
  }
}

/** Tells whether the store is a read-only replica; false if the user may not run INFO. */
async function isReadOnly(client: RedisClient): Promise<boolean> {
  try {
    const info = String(await client.ask('info', ['replication']));
    return /^role:slave\b/m.test(info) && /^slave_read_only:1\b/m.test(info);
  } catch (error) {
    if (error instanceof RedisRefused) return false;
    throw error;
  }
}

/** Returns the result for an error of the store, or for a failed connection. */
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
      unreachableReason({ code, message }) ??
      (/^(?!SSL )[A-Z]+ /.test(message) ? 'it is not ready' : message),
  };
}
