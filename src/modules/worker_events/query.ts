import type { Exchange } from '../../http/index.ts';
import type { SharedIds } from './shared-ids.ts';

/** Parses a raw query into decoded names and values; `undefined` if one is invalid. `+` is not a blank. */
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

/** The entries that a client requests. Without a channel or type, all match. */
interface EventQuery {
  /** `undefined` if the query has no `since`. */
  readonly since: number | undefined;
  readonly limit: number;
  readonly channel: string | undefined;
  readonly type: string | undefined;
}

/** The channel of the location, and the reader of its ids. */
interface QueryScope {
  readonly channel: string;
  /** Reads the generation after which a client continues; `undefined` if the text is invalid. */
  readonly sinceOf: (text: string) => number | undefined;
}

/** Reads `since`, `limit`, `channel` and `type`; a text describes the fault. */
export function readEventQuery(args: string, scope: QueryScope): EventQuery | string {
  const pairs = parseQuery(args);
  if (!pairs) return 'the query is not valid percent-encoded UTF-8';
  // The last of repeated parameters is used.
  const given = new Map(pairs);
  const since = given.get('since');
  const limit = given.get('limit');
  const from = since === undefined ? undefined : scope.sinceOf(since);
  if (since !== undefined && from === undefined) return 'since must be a non-negative integer';
  if (limit !== undefined && !isCount(limit)) return 'limit must be a non-negative integer';
  return {
    since: from,
    limit: limit === undefined ? Infinity : Number(limit),
    channel: (given.get('channel') ?? scope.channel) || undefined,
    type: given.get('type') || undefined,
  };
}

/** Compiles the reader of the generation after which a client continues, given as a number or as an id. */
export function compileSince(ids: SharedIds | undefined): (text: string) => number | undefined {
  return (text) => (isCount(text) ? Number(text) : ids?.generationOf(text));
}

/** Tells whether the text is a non-negative integer in decimal digits. */
function isCount(text: string): boolean {
  return /^\d+$/.test(text);
}

/** Sends a response for an error; `error` describes it. */
export function refuse(x: Exchange, status: number, error: string): void {
  x.send(
    status,
    'application/json',
    `{"module":"worker_events","status":"error","error":${JSON.stringify(error)}}`,
  );
}

/** Responds that the zone's lock could not be taken: nothing has changed, and a retry may succeed. */
export function refuseBusy(x: Exchange): void {
  x.response.setHeader('Retry-After', '1');
  refuse(x, 503, 'the ring is busy');
}
