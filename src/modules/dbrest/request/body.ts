import type { Exchange } from '../../../http/index.ts';
import { unreadableEncoding } from '../fault/index.ts';
import { type Turn, turnsFor } from '../event-loop.ts';

/** The complete body of a request. */
export interface ReceivedBody {
  /** Media type in lower case, without parameters. */
  readonly type: string;
  readonly bytes: Buffer;
  readonly turn: Turn;
}

/** Media types of JSON bodies. */
export const JSON_TYPE = /^application\/(?:json|vnd\.(?:pgrst|dbrest)\.(?:object|array)(?:\+json)?)$/;

/**
 * Receives the body of a request, at most `mostBytes` of them. Without a `Content-Type` it is JSON. Returns `undefined` when the body was too large or
 * too slow and the response has been sent, or the client has gone. Throws PGRST102 (415) for a compressed body: its
 * decompressed size would be unbounded.
 */
export async function receiveBody(x: Exchange, mostBytes?: number): Promise<ReceivedBody | undefined> {
  const encoding = x.header('content-encoding') ?? '';
  if (!/^(?:identity)?$/i.test(encoding.trim())) throw unreadableEncoding(encoding);
  const [type = ''] = (x.header('content-type') ?? '').split(';', 1).map((name) => name.trim().toLowerCase());
  const bytes = await x.readBody(mostBytes);
  return bytes && { type: type === '' ? 'application/json' : type, bytes, turn: turnsFor(x) };
}
