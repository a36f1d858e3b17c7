import type { Word } from '../../../../grammar/index.ts';
import { directivesFor, readers, type ReadScope, shares } from '../../../config/index.ts';
import { MAX_RING_ENTRIES } from '../../../zone/index.ts';

/** Writes of other clients, for caches: the payload is `schema.relation`, or `*` for all. */
export const CACHE_CHANNEL = 'gw_cache';

/** Changes of rows, as the triggers of `gw db setup --watch` announce them. */
export const CHANGES_CHANNEL = 'gw_changes';

/** Changes of the schema: the channels of PostgREST and of gw. */
export const SCHEMA_CHANNELS: readonly string[] = ['pgrst', 'gw'];

/** The channels that the gateway itself listens to. */
export const OWN_CHANNELS: readonly string[] = [...SCHEMA_CHANNELS, CACHE_CHANNEL];

/** Streams of events: notifications of the database, and changes of rows. */
export interface LiveConfig {
  /** The channels whose notifications clients may follow; empty: none. */
  readonly listen?: readonly string[];
  readonly listenZone?: ListenZone;
  /** Clients may follow the rows of a read. */
  readonly live: boolean;
  /** Most rows that a followed read keeps track of. */
  readonly liveMaxRows: number;
  /** Events that are kept for clients that read slowly or come back, in bytes for each read. */
  readonly liveBufferBytes: number;
  /** Request headers that the database may see when it reads changed rows, lower case. */
  readonly liveHeaders?: readonly string[];
  /** Most open streams of the location, over all workers. */
  readonly maxStreams: number;
  /** Most of them that one client address may have. */
  readonly maxStreamsPerClient: number;
}

/** `dbrest_listen_zone name [entries];` */
interface ListenZone {
  readonly name: string;
  readonly entries: number;
}

/** Entries of a ring whose size is not configured, as of worker events. */
export const DEFAULT_LISTEN_ENTRIES = 1024;

const EVERYWHERE = ['http', 'server', 'location'] as const;

/** PostgreSQL truncates longer names of `listen`. */
const LONGEST_CHANNEL_BYTES = 63;

/** Reads `off` or the names of channels. Names keep their case. */
const channels = readers.words<readonly string[]>(
  { syntax: 'off | channel ...', min: 1, max: Infinity },
  (words, { directive, report }) => {
    if (words.length === 1 && words[0]?.value === 'off') return [];
    for (const { value, span } of words) {
      const fault = channelFault(value);
      if (fault === undefined) continue;
      report.emerg(`invalid channel "${value}" in "${directive}" directive`, span, fault);
      return undefined;
    }
    return [...new Set(words.map(({ value }) => value))];
  },
);

function channelFault(name: string): string | undefined {
  if (name === '' || Buffer.byteLength(name) > LONGEST_CHANNEL_BYTES)
    return `a channel has 1 to ${LONGEST_CHANNEL_BYTES} bytes`;
  if (/\p{Cc}/u.test(name)) return 'a channel has no control characters';
  if (name === CHANGES_CHANNEL) return 'it names rows that clients may not read; "dbrest_live" shows changes';
  return OWN_CHANNELS.includes(name) ? 'the gateway listens to it for itself' : undefined;
}

function readListenZone(words: readonly Word[], scope: ReadScope): ListenZone | undefined {
  const [name, size] = words as [Word, Word?];
  if (name.value === '') scope.report.emerg('invalid zone name ""', name.span);
  const entries = size
    ? readers.integer({ min: 1, max: MAX_RING_ENTRIES }).read([size], scope)
    : DEFAULT_LISTEN_ENTRIES;
  return entries === undefined ? undefined : { name: name.value, entries };
}

/** Reads names of request headers. */
const headerNames = readers.words<readonly string[]>(
  { syntax: 'name ...', min: 1, max: Infinity },
  (words, { directive, report }) => {
    for (const { value, span } of words) {
      if (/^[!#$%&'*+.^`|~\w-]+$/.test(value)) continue;
      report.emerg(`invalid header name "${value}" in "${directive}" directive`, span);
      return undefined;
    }
    return [...new Set(words.map(({ value }) => value.toLowerCase()))];
  },
);

/** Notifications of the database. */
const notifications = directivesFor<LiveConfig>()({
  dbrest_listen: {
    contexts: EVERYWHERE,
    args: channels,
    into: 'listen',
    summary:
      'Channels of PostgreSQL (NOTIFY) whose notifications a GET of the root of the location that accepts "text/event-stream" follows. Whoever may call the location gets all of them.',
    source: 'gw',
  },
  dbrest_listen_zone: {
    contexts: EVERYWHERE,
    args: readers.words({ syntax: 'name [entries]', min: 1, max: 2 }, readListenZone),
    into: 'listenZone',
    summary: `The ring of events that notifications go through, and the number of its entries (${DEFAULT_LISTEN_ENTRIES}): streams resume within it. Locations of worker_events_zone may share it. Default: one for each database.`,
    roles: shares('event ring'),
    source: 'gw',
  },
});

/** Changes of rows. */
const changes = directivesFor<LiveConfig>()({
  dbrest_live: {
    contexts: EVERYWHERE,
    args: readers.flag,
    into: 'live',
    default: false,
    defaultText: 'off',
    summary:
      'A GET of a table that accepts "text/event-stream" gets its rows, then each change that its filter and the row security of its role let through. Tables need the triggers of "gw db setup --watch".',
    source: 'gw',
  },
  dbrest_live_max_rows: {
    contexts: EVERYWHERE,
    args: readers.integer({ min: 1, max: 1_000_000 }),
    into: 'liveMaxRows',
    default: 10_000,
    summary: 'Maximum number of rows that a followed read may have; the gateway keeps the key of each.',
    source: 'gw',
  },
  dbrest_live_buffer: {
    contexts: EVERYWHERE,
    args: readers.size,
    into: 'liveBufferBytes',
    default: 1_048_576,
    defaultText: '1m',
    summary:
      'Latest events of a followed read that are kept for clients that read slowly or come back; who is behind them is cut off, and gets the rows again when it returns.',
    source: 'gw',
  },
  dbrest_live_headers: {
    contexts: EVERYWHERE,
    args: headerNames,
    into: 'liveHeaders',
    summary:
      'Request headers that the database sees (request.headers) when it reads for a stream. Streams that agree in them, their token and their query share what is read; other headers, and cookies, are not passed on.',
    source: 'gw',
  },
});

/** Limits of both. */
const limits = directivesFor<LiveConfig>()({
  dbrest_max_streams: {
    contexts: EVERYWHERE,
    args: readers.integer({ min: 1, max: 10_000_000 }),
    into: 'maxStreams',
    default: 10_000,
    summary: 'Maximum number of open event streams of a location, over all workers; further ones get a 503.',
    source: 'gw',
  },
  dbrest_max_streams_per_client: {
    contexts: EVERYWHERE,
    args: readers.integer({ min: 1, max: 10_000_000 }),
    into: 'maxStreamsPerClient',
    default: 100,
    summary:
      'Maximum number of open event streams of a location that one client address may have; further ones get a 429.',
    source: 'gw',
  },
});

/** The rows of streams of events. */
export const liveDirectives = { ...notifications, ...changes, ...limits };
