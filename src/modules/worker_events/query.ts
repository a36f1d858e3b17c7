import type { Exchange } from '../../http/index.ts';
import type { RingEntry } from '../../zone/index.ts';

/**
 * Names and values of a raw query, percent-decoded, in order; `undefined` when one is not valid. `+` is no
 * blank.
 */
export function parseQuery(args: string): readonly (readonly [name: string, value: string])[] | undefined {
  if (args === '') return [];
  try {
    return args.split('&').map((pair) => {
      const equals = pair.indexOf('=');
      return equals < 0
        ? [decodeURIComponent(pair), '']
        : [decodeURIComponent(pair.slice(0, equals)), decodeURIComponent(pair.slice(equals + 1))];
    });
  } catch {
    return undefined;
  }
}

/** What a reader asks for. An absent channel or type matches all. */
interface EventQuery {
  /** `undefined` when the query does not say. */
  readonly since: number | undefined;
  readonly limit: number;
  readonly channel: string | undefined;
  readonly type: string | undefined;
}

/** Reads `since`, `limit`, `channel` and `type`; gives a text instead that says what is wrong. */
export function readEventQuery(args: string, ownChannel: string): EventQuery | string {
  const pairs = parseQuery(args);
  if (!pairs) return 'the query is not valid percent-encoded UTF-8';
  // Of a repeated parameter the last counts.
  const given = new Map(pairs);
  const since = given.get('since');
  const limit = given.get('limit');
  if (since !== undefined && !isCount(since)) return 'since must be a non-negative integer';
  if (limit !== undefined && !isCount(limit)) return 'limit must be a non-negative integer';
  return {
    since: since === undefined ? undefined : Number(since),
    limit: limit === undefined ? Infinity : Number(limit),
    channel: (given.get('channel') ?? ownChannel) || undefined,
    type: given.get('type') || undefined,
  };
}

/** True for a non-negative integer in plain decimal digits. */
export function isCount(text: string): boolean {
  return /^\d+$/.test(text);
}

/** An answer of this module that is not a success; `error` says what is wrong. */
export function refuse(x: Exchange, status: number, error: string): void {
  x.send(
    status,
    'application/json',
    `{"module":"worker_events","status":"error","error":${JSON.stringify(error)}}`,
  );
}

/** The zone's lock was not to be had: nothing happened, and the next try may succeed. */
export function refuseBusy(x: Exchange): void {
  x.response.setHeader('Retry-After', '1');
  refuse(x, 503, 'the ring is busy');
}

/** An entry as it stands in `events` and in a stream. */
export function entryJson({ generation, channel, type, payload, timestampMs }: RingEntry): string {
  return (
    `{"generation":${generation},"channel":${JSON.stringify(channel)},"type":${JSON.stringify(type)},` +
    `"payload":${JSON.stringify(payload)},"timestamp":${timestampMs}}`
  );
}
