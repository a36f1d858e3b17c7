import type { LiveProblem, LiveScope } from '../../contract/index.ts';
import { unreachableReason } from '../../system/index.ts';
import { type Endpoint, endpointsOf } from './address.ts';
import { COMMANDS } from './commands.ts';
import type { KvConfig } from './directives.ts';
import { clientOptions } from './redis-connection.ts';

type Problem = LiveProblem<KvConfig>;

/** What one server of a store says to somebody who logs in. */
type Answer =
  { readonly unreachable: string } | { readonly refused: string } | { readonly readOnly: boolean };

/** What only the store knows of a location: whether it can be reached, takes the login, and takes writes. */
export async function probeStore(
  { pass, command, connectTimeoutMs }: KvConfig,
  live: LiveScope,
): Promise<readonly Problem[]> {
  if (!pass || pass.kind === 'embedded' || pass.kind === 'variable') return [];
  const timeoutMs = Math.min(connectTimeoutMs, live.timeoutMs);
  const endpoints = endpointsOf(pass, (name) => live.upstream(name));
  const answers = await Promise.all(
    endpoints.map((endpoint) =>
      live.once(`kv ${JSON.stringify(endpoint)}`, () => askStore(endpoint, timeoutMs)),
    ),
  );
  return answers.flatMap((answer) => problemOf(answer, command) ?? []);
}

function problemOf(answer: Answer, command: KvConfig['command']): Problem | undefined {
  if ('unreachable' in answer) {
    const message = `the store cannot be reached: ${answer.unreachable}`;
    return { rule: 'store-unreachable', field: 'pass', message };
  }
  if ('refused' in answer) {
    return {
      rule: 'store-refused',
      field: 'pass',
      message: `the store refuses the login: ${answer.refused}`,
    };
  }
  if (!answer.readOnly || COMMANDS[command].methods.includes('GET')) return undefined;
  const message = `the store is a read-only replica, and "kv_command ${command}" writes`;
  return { rule: 'store-read-only', field: 'command', message };
}

/** Connects, asks and closes; never rejects. */
async function askStore(endpoint: Endpoint, timeoutMs: number): Promise<Answer> {
  const { Redis } = await import('./redis-client.ts');
  const redis = new Redis({
    ...clientOptions(endpoint, timeoutMs),
    lazyConnect: true,
    retryStrategy: () => null,
    commandTimeout: timeoutMs,
  });
  // A refused login comes as an event only: the connection then just closes.
  let first: Error | undefined;
  redis.on('error', (error: Error) => (first ??= error));
  let deadline: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    deadline = setTimeout(() => reject(new Error('no answer in time')), 2 * timeoutMs);
  });
  try {
    const asked = redis.connect().then(() => redis.ping());
    await Promise.race([asked, late]);
    return { readOnly: await Promise.race([isReadOnly(redis), late]) };
  } catch (error) {
    return faultOf(first ?? (error as Error));
  } finally {
    clearTimeout(deadline);
    redis.disconnect();
  }
}

/** Who may not ask is not told, which is no fault. */
async function isReadOnly(redis: { info(section: string): Promise<string> }): Promise<boolean> {
  const info = await redis.info('replication').catch(() => '');
  return /^role:slave\b/m.test(info) && /^slave_read_only:1\b/m.test(info);
}

function faultOf(error: NodeJS.ErrnoException): Answer {
  const { message } = error;
  if (message.startsWith('NOAUTH')) return { refused: 'it wants a password' };
  if (message.startsWith('WRONGPASS') || /invalid password/i.test(message))
    return { refused: 'wrong password' };
  if (/without any password configured/i.test(message)) return { refused: 'it has no password' };
  if (message.startsWith('NOPERM')) return { refused: 'the user may not use it' };
  // A reply is somebody's data; what is no reply has a code or comes from here.
  return {
    unreachable: unreachableReason(error) ?? (/^[A-Z]+ /.test(message) ? 'it is not ready' : message),
  };
}
