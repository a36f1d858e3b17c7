import { type Endpoint, RedisConnection, redisLabel, type Reply, ReplyError } from '../../../redis/index.ts';
import { MemberFault, readMembers } from '../../../upstream/index.ts';
import { MAX_SOURCE_BYTES, type Source, unreadable } from './source.ts';

/** A server that does not respond leaves time for the others. */
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

/** Reads a string over a connection of its own; `undefined`: there is no such key. Rejects with a `MemberFault`. */
function getText(endpoint: Endpoint, key: string, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const end = (act: () => void): void => {
      signal.removeEventListener('abort', abort);
      connection.close();
      act();
    };
    const failed = (reason: string): void =>
      end(() => reject(unreadable(`${redisLabel(endpoint)}: ${reason}`)));
    const abort = (): void => failed('it took too long');
    const read = (reply: Reply | ReplyError): void => {
      if (reply instanceof ReplyError) return failed(refusalOf(reply));
      if (reply === null) return end(() => resolve(undefined));
      if (!Buffer.isBuffer(reply)) return failed('the reply is no string');
      end(() => resolve(reply.toString()));
    };
    const limits = { connectTimeoutMs: CONNECT_MS, maxReplyBytes: MAX_SOURCE_BYTES + FRAMING_BYTES };
    const connection = new RedisConnection(
      endpoint,
      { clock: performanceClock, ...limits },
      {
        up: () =>
          connection.send({
            name: 'get',
            args: [key],
            replied: read,
            failed,
            unsent: failed,
            next: undefined,
          }),
        down: (_, reason) => failed(reason),
      },
    );
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
  });
}

const performanceClock = { nowMs: () => performance.now() };

/** The first word of a refusal tells what is wrong; the rest may repeat what was sent. */
function refusalOf({ message }: ReplyError): string {
  return `it refuses "get": ${/^[A-Z]+\b/.exec(message)?.[0] ?? 'an error'}`;
}
