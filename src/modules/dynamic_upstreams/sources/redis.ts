import { type Endpoint, RedisClient, RedisRefused } from '../../../redis/index.ts';
import { MemberFault, readMembers } from '../../../upstream/index.ts';
import { MAX_SOURCE_BYTES, type Source, unreadable } from './source.ts';

/** Connect timeout: it leaves time to ask the other servers. */
const CONNECT_MS = 2000;
/** The length of a reply and the line ends around it. */
const FRAMING_BYTES = 32;

/** `dynamic_upstreams_redis`: a key whose string is the body of PUT. A key that does not exist is an empty list. */
export function redisSource(endpoints: readonly Endpoint[], key: string): Source {
  return {
    async ask(signal) {
      const text = await firstText(endpoints, key, signal);
      return { members: text === undefined ? [] : readMembers(text, { allowsEmpty: true }) };
    },
  };
}

/** Asks one server after the other until one responds; rejects with the fault of the last one. */
async function firstText(
  endpoints: readonly Endpoint[],
  key: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  let fault = unreadable('the upstream of the store has no servers');
  for (const endpoint of endpoints) {
    try {
      return await getText(endpoint, key, signal);
    } catch (error) {
      if (!(error instanceof MemberFault)) throw error;
      fault = error;
    }
    if (signal.aborted) break;
  }
  throw fault;
}

/** Reads a string over a new connection; `undefined` if the key does not exist. Rejects with a `MemberFault`. */
async function getText(endpoint: Endpoint, key: string, signal: AbortSignal): Promise<string | undefined> {
  const limits = { connectTimeoutMs: CONNECT_MS, maxReplyBytes: MAX_SOURCE_BYTES + FRAMING_BYTES };
  const client = new RedisClient(endpoint, limits);
  const abort = (): void => client.close('it took too long');
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    await client.ready();
    const reply = await client.ask('get', [key]);
    if (reply === null) return undefined;
    if (!Buffer.isBuffer(reply)) throw new Error('the reply is no string');
    return reply.toString();
  } catch (error) {
    throw unreadable(`${client.label}: ${reasonOf(error as Error)}`);
  } finally {
    signal.removeEventListener('abort', abort);
    client.close();
  }
}

/** Returns the first word of an error reply, its code; the rest may contain the request. */
function reasonOf(error: Error): string {
  if (!(error instanceof RedisRefused)) return error.message;
  return `it refuses "get": ${/^[A-Z]+\b/.exec(error.message)?.[0] ?? 'an error'}`;
}
