import type { Word } from '../../../grammar/index.ts';
import { type ArgReader, directivesFor, type Network, readers, uses } from '../../config/index.ts';
import { EVENT_LIMITS } from '../../zone/index.ts';

/** Targets are whole keys, beginnings of keys, or tags. */
export type PurgeMatch = 'exact' | 'prefix' | 'tag';

/** `cache_purge_*` and `cache_tags_purge` of one location. */
export interface CachePurgeConfig {
  readonly api?: true;
  readonly tagsApi?: true;
  readonly zone?: string;
  readonly match: PurgeMatch;
  readonly authorize: 'off' | 'allowlist';
  readonly allowlist?: readonly Network[];
  readonly maxKeys: number;
  readonly allowAll: boolean;
  readonly eventsMode: 'off' | 'per_target' | 'summary';
  readonly eventsZone?: string;
  readonly eventsChannel?: string;
  /** The name under which all caches are purged by their tags. */
  readonly tagsZone?: string;
}

const LOCATION = ['location'] as const;
const ANY = ['http', 'server', 'location'] as const;
const GW = { source: 'gw' } as const;

const networks: ArgReader<readonly Network[]> = readers.words(
  { syntax: 'address | CIDR ...', min: 1, max: Infinity },
  (words, scope) => {
    const found = words.map((word) => readers.readCidr(word, scope));
    return found.every((network) => network !== undefined) ? found : undefined;
  },
);

const channel: ArgReader<string> = readers.words(
  { syntax: 'name', min: 1, max: 1 },
  ([name], { report, directive }) => {
    const { value, span } = name as Word;
    if (value !== '' && Buffer.byteLength(value) <= EVENT_LIMITS.channelBytes) return value;
    report.emerg(`"${directive}" must have 1 to ${EVENT_LIMITS.channelBytes} bytes`, span);
    return undefined;
  },
);

/** `name [size]`. In nginz the size is that of a zone for tags; here it has no effect. */
const tagsZone: ArgReader<string> = readers.words(
  { syntax: 'name [size]', min: 1, max: 2 },
  ([name, size], scope) => {
    if (!size || readers.parseSize(size.value) !== undefined) return (name as Word).value;
    scope.report.emerg(`invalid zone size "${size.value}"`, size.span);
    return undefined;
  },
);

/** The directives of gw's own API and of nginz's for tags. */
export const directives = directivesFor<CachePurgeConfig>()({
  cache_purge_api: {
    ...GW,
    contexts: LOCATION,
    args: readers.present,
    into: 'api',
    inherit: 'nameless',
    summary:
      'POST {"targets":["..."]} removes stored responses: when the response leaves, no worker serves them any more.',
  },
  cache_purge_zone: {
    ...GW,
    contexts: ANY,
    args: readers.text,
    into: 'zone',
    roles: uses('response cache'),
    summary:
      'The cache that is purged, by its "keys_zone"; "default", or the name of "cache_tags_zone": all caches, by tags.',
  },
  cache_purge_match: {
    ...GW,
    contexts: ANY,
    args: readers.oneOf('exact', 'prefix', 'tag'),
    into: 'match',
    default: 'exact',
    summary: 'What targets are: keys, the beginnings of keys, or tags.',
  },
  cache_purge_authorize: {
    ...GW,
    contexts: ANY,
    args: readers.oneOf('off', 'allowlist'),
    into: 'authorize',
    default: 'off',
    summary: 'Whether only clients in "cache_purge_allowlist" may purge; access rules apply besides.',
  },
  cache_purge_allowlist: {
    ...GW,
    contexts: ANY,
    args: networks,
    into: 'allowlist',
    summary: 'Networks whose clients may purge.',
  },
  cache_purge_max_keys: {
    ...GW,
    contexts: ANY,
    args: readers.integer({ min: 1, max: 65_536 }),
    into: 'maxKeys',
    default: 256,
    summary: 'Maximum number of targets of one request.',
  },
  cache_purge_allow_all: {
    ...GW,
    contexts: ANY,
    args: readers.flag,
    into: 'allowAll',
    default: false,
    summary: 'Whether the prefix "" may empty the cache.',
  },
  cache_purge_worker_events_mode: {
    ...GW,
    contexts: ANY,
    args: readers.oneOf('off', 'per_target', 'summary'),
    into: 'eventsMode',
    default: 'per_target',
    summary: 'One event "purged" for each target that removed something, or one "purge_batch" for a request.',
  },
  cache_purge_worker_events_zone: {
    ...GW,
    contexts: ANY,
    args: readers.text,
    into: 'eventsZone',
    roles: uses('event ring'),
    summary: 'The ring that purges are published into.',
  },
  cache_purge_worker_events_channel: {
    ...GW,
    contexts: ANY,
    args: channel,
    into: 'eventsChannel',
    summary: 'The channel of these events; without the zone nothing is published.',
  },
  cache_tags_zone: {
    ...GW,
    contexts: ['http'],
    args: tagsZone,
    into: 'tagsZone',
    summary:
      'A name for the tags of all caches, for "cache_purge_zone"; tags lie in the index of each cache.',
  },
  cache_tags_purge: {
    ...GW,
    contexts: LOCATION,
    args: readers.present,
    into: 'tagsApi',
    inherit: 'nameless',
    summary: 'GET shows the tags of all caches; DELETE with ?tag=NAME removes the responses that have it.',
  },
});
