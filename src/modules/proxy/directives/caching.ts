import { resolve } from 'node:path';
import type { Word } from '../../../../grammar/index.ts';
import {
  type ArgReader,
  type ComplexValue,
  defines,
  pathFrom,
  directivesFor,
  readers,
  type ReadScope,
  uses,
} from '../../../config/index.ts';
import {
  type CachePathConfig,
  type CacheValidConfig,
  type ProxyConfig,
  STALE_CONDITIONS,
} from '../config.ts';
import { someOf } from './readers.ts';

const { flag, integer, size, time } = readers;
const HSL = ['http', 'server', 'location'] as const;
const source = (name: string): string => `nginx ngx_http_proxy_module#${name}`;

/** Words that may hold variables. */
const values: ArgReader<readonly ComplexValue[]> = readers.words(
  { syntax: 'string ...', min: 1, max: Infinity },
  (words, scope) => words.map((word) => scope.complexValue(word)),
);

interface Settings {
  name: string;
  sizeBytes: number;
  levels: readonly number[];
  inactiveMs: number;
  maxBytes: number;
  minFreeBytes: number;
  counts: Record<'manager_files' | 'loader_files', number>;
  times: Record<'manager_sleep' | 'manager_threshold' | 'loader_sleep' | 'loader_threshold', number>;
}

/** `path keys_zone=name:size [levels=…] …` (nginx ngx_http_file_cache_set_slot). */
const cachePath: ArgReader<CachePathConfig> = readers.words(
  {
    syntax:
      'path [levels=levels] [use_temp_path=on|off] keys_zone=name:size [inactive=time] [max_size=size] [min_free=size] [manager_files=number] [manager_sleep=time] [manager_threshold=time] [loader_files=number] [loader_sleep=time] [loader_threshold=time]',
    min: 2,
    max: Infinity,
  },
  ([path, ...parameters], scope) => {
    const settings: Settings = {
      name: '',
      sizeBytes: 0,
      levels: [],
      inactiveMs: 600_000,
      maxBytes: 0,
      minFreeBytes: 0,
      counts: { manager_files: 100, loader_files: 100 },
      times: { manager_sleep: 50, manager_threshold: 200, loader_sleep: 50, loader_threshold: 200 },
    };
    if (!parameters.every((word) => readParameter(word, settings, scope))) return undefined;
    const { counts, times, name, ...rest } = settings;
    if (name === '') {
      scope.report.emerg(`"${scope.directive}" must have "keys_zone" parameter`, scope.span);
      return undefined;
    }
    return {
      ...rest,
      name,
      path: resolve(scope.prefix, (path as Word).value),
      managerFiles: counts.manager_files,
      managerSleepMs: times.manager_sleep,
      managerThresholdMs: times.manager_threshold,
      loaderFiles: counts.loader_files,
      loaderSleepMs: times.loader_sleep,
      loaderThresholdMs: times.loader_threshold,
    };
  },
);

const SMALLEST_ZONE = 16_384;

/** False: the parameter is wrong, and that was reported. */
function readParameter(word: Word, settings: Settings, scope: ReadScope): boolean {
  const [, name = '', text = ''] = /^([a-z_]+)=(.*)$/s.exec(word.value) ?? [];
  const wrong = (message: string, hint?: string): false => {
    scope.report.emerg(message, word.span, hint);
    return false;
  };
  if (name === 'keys_zone')
    return readZone(text, settings, wrong) || wrong(`invalid keys zone size "${word.value}"`);
  if (name === 'levels') {
    settings.levels = text.split(':').map(Number);
    return /^[12](?::[12]){0,2}$/.test(text) || wrong(`invalid "levels" "${word.value}"`);
  }
  if (name === 'inactive' || name in settings.times) {
    const ms = readers.parseTimeMs(text);
    if (ms === undefined) return wrong(`invalid ${name} value "${word.value}"`);
    if (name === 'inactive') settings.inactiveMs = ms;
    else settings.times[name as keyof Settings['times']] = ms;
    return true;
  }
  if (name === 'max_size' || name === 'min_free') {
    const bytes = readers.parseSize(text);
    if (bytes === undefined) return wrong(`invalid ${name} value "${word.value}"`);
    settings[name === 'max_size' ? 'maxBytes' : 'minFreeBytes'] = bytes;
    return true;
  }
  if (name in settings.counts) {
    settings.counts[name as keyof Settings['counts']] = Number(text);
    return /^[1-9]\d{0,8}$/.test(text) || wrong(`invalid ${name} value "${word.value}"`);
  }
  if (name === 'use_temp_path')
    return (
      /^(on|off)$/.test(text) ||
      wrong(`invalid use_temp_path value "${word.value}", it must be "on" or "off"`)
    );
  // The purger of nginx's paid edition: gw removes what is purged at once.
  if (name === 'purger' || name.startsWith('purger_')) return true;
  return wrong(`invalid parameter "${word.value}"`);
}

function readZone(
  text: string,
  settings: Settings,
  wrong: (message: string, hint: string) => false,
): boolean {
  const [, zone = '', sizeText = ''] = /^([^:]+):(.*)$/s.exec(text) ?? [];
  const bytes = readers.parseSize(sizeText);
  if (bytes === undefined) return false;
  if (bytes < SMALLEST_ZONE)
    return wrong(`keys zone "${text}" is too small`, `at least ${SMALLEST_ZONE / 1024}k`);
  settings.name = zone;
  settings.sizeBytes = bytes;
  return true;
}

/** `[code …] time` (nginx ngx_http_file_cache_valid_set_slot). */
const valid: ArgReader<CacheValidConfig> = readers.words(
  { syntax: '[code ...] time', min: 1, max: Infinity },
  (words, { report }) => {
    const timeWord = words.at(-1) as Word;
    const codes = words.slice(0, -1);
    const ms = readers.parseTimeMs(timeWord.value);
    if (ms === undefined) {
      report.emerg(
        `invalid time value "${timeWord.value}"`,
        timeWord.span,
        'expected a time such as 30s or 10m',
      );
      return undefined;
    }
    if (codes.length === 0) return { codes: [200, 301, 302], ms };
    const wrong = codes.find(({ value }) => value !== 'any' && !/^[1-5]\d\d$/.test(value));
    if (wrong) {
      report.emerg(`invalid status "${wrong.value}"`, wrong.span);
      return undefined;
    }
    const isAny = codes.some(({ value }) => value === 'any');
    return { codes: isAny ? 'any' : codes.map(({ value }) => Number(value)), ms };
  },
);

/** Methods in nginx's list; GET and HEAD are always cached. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'] as const;

/** nginx's cache of responses. */
export const cachingDirectives = directivesFor<ProxyConfig>()({
  proxy_cache_path: {
    contexts: ['http'],
    args: cachePath,
    into: 'cachePaths',
    repeat: 'append',
    summary:
      'A cache of responses: its directory, and the shared memory of its index. Entries survive a restart; those that nobody asks for during "inactive" are removed.',
    roles: [
      ...defines('response cache', { word: 'any', behind: ['keys_zone='], until: ':' }),
      ...pathFrom('prefix'),
    ],
    source: source('proxy_cache_path'),
  },
  proxy_cache: {
    contexts: HSL,
    args: { ...readers.value, syntax: 'zone | off' },
    into: 'cache',
    default: { parts: ['off'] },
    defaultText: 'off',
    summary: 'The cache that responses are stored in and served from.',
    roles: uses('response cache'),
    source: source('proxy_cache'),
  },
  proxy_cache_key: {
    contexts: HSL,
    args: readers.value,
    into: 'cacheKey',
    defaultText: '$scheme$proxy_host$request_uri',
    summary: 'The key of a response; two requests with the same key get the same response.',
    source: source('proxy_cache_key'),
  },
  proxy_cache_valid: {
    contexts: HSL,
    args: valid,
    into: 'cacheValid',
    repeat: 'append',
    summary:
      'How long responses are fresh whose headers do not say it; without codes, those with status 200, 301 and 302.',
    source: source('proxy_cache_valid'),
  },
  proxy_cache_methods: {
    contexts: HSL,
    args: someOf(METHODS),
    into: 'cacheMethods',
    defaultText: 'GET HEAD',
    summary: 'Methods of the requests whose responses are stored; GET and HEAD always are.',
    source: source('proxy_cache_methods'),
  },
  proxy_cache_min_uses: {
    contexts: HSL,
    args: integer(),
    into: 'cacheMinUses',
    default: 1,
    summary: 'The request for a key with which its response is stored, counted from 1.',
    source: source('proxy_cache_min_uses'),
  },
  proxy_cache_bypass: {
    contexts: HSL,
    args: values,
    into: 'cacheBypass',
    repeat: 'append',
    summary: 'If one of the values is neither empty nor 0, the response is not taken from the cache.',
    source: source('proxy_cache_bypass'),
  },
  proxy_no_cache: {
    contexts: HSL,
    args: values,
    into: 'noCache',
    repeat: 'append',
    summary: 'If one of the values is neither empty nor 0, the response is not stored.',
    source: source('proxy_no_cache'),
  },
  proxy_cache_use_stale: {
    contexts: HSL,
    args: someOf(STALE_CONDITIONS),
    into: 'cacheUseStale',
    repeat: 'append',
    defaultText: 'off',
    summary: 'When a stale response is served: after which failures, and while it is updated.',
    source: source('proxy_cache_use_stale'),
  },
  proxy_cache_lock: {
    contexts: HSL,
    args: flag,
    into: 'cacheLock',
    default: false,
    summary: 'One request at a time fetches a response that is not in the cache; the others wait for it.',
    source: source('proxy_cache_lock'),
  },
  proxy_cache_lock_timeout: {
    contexts: HSL,
    args: time,
    into: 'cacheLockTimeoutMs',
    default: 5_000,
    defaultText: '5s',
    summary:
      'Longest wait for the lock; after it a request is sent to the upstream, and its response is not stored.',
    source: source('proxy_cache_lock_timeout'),
  },
  proxy_cache_lock_age: {
    contexts: HSL,
    args: time,
    into: 'cacheLockAgeMs',
    default: 5_000,
    defaultText: '5s',
    summary: 'If the request with the lock is not done after this time, one more is sent.',
    source: source('proxy_cache_lock_age'),
  },
  proxy_cache_background_update: {
    contexts: HSL,
    args: flag,
    into: 'cacheBackgroundUpdate',
    default: false,
    summary: 'A stale response is served at once, and updated by a request of its own.',
    source: source('proxy_cache_background_update'),
  },
  proxy_cache_revalidate: {
    contexts: HSL,
    args: flag,
    into: 'cacheRevalidate',
    default: false,
    summary: 'Asks with If-Modified-Since and If-None-Match whether a stale response is still right.',
    source: source('proxy_cache_revalidate'),
  },
  proxy_cache_convert_head: {
    contexts: HSL,
    args: flag,
    into: 'cacheConvertHead',
    default: true,
    summary: 'HEAD is sent to the upstream as GET; with "off" the key has to contain $request_method.',
    source: source('proxy_cache_convert_head'),
  },
  proxy_cache_max_range_offset: {
    contexts: HSL,
    args: size,
    into: 'cacheMaxRangeOffset',
    summary: 'Requests for a range from this byte on, or from the end, are passed on and not stored.',
    source: source('proxy_cache_max_range_offset'),
  },
  proxy_cache_verify: {
    contexts: HSL,
    args: size,
    into: 'cacheVerifyBytes',
    default: 1_048_576,
    defaultText: '1m',
    summary:
      'Stored bodies up to this size are compared with their checksum before they are sent for the first time after a start; larger ones while they are sent.',
    source: 'gw',
  },
  proxy_cache_purge: {
    contexts: HSL,
    args: values,
    into: 'cachePurge',
    repeat: 'append',
    summary:
      'If one of the values is neither empty nor 0, the request removes the response with its key, or with a "*" at the end of the key all that begin so: 204, or 404 if there was none. Who may send it, access rules decide.',
    source: source('proxy_cache_purge'),
  },
  cache_tags: {
    contexts: ['location'],
    args: readers.present,
    into: 'cacheTags',
    inherit: 'nameless',
    summary: 'Stored responses have tags, by which they are purged.',
    source: 'gw',
  },
  cache_tags_header: {
    contexts: ['http'],
    args: readers.text,
    into: 'cacheTagsHeader',
    default: 'Cache-Tag',
    summary: 'The header of responses that their tags are taken from, separated by commas.',
    source: 'gw',
  },
  cache_tag_header: {
    contexts: HSL,
    args: readers.text,
    into: 'tagHeader',
    summary:
      'Stored responses have the tags of this header: "cache_tags" and "cache_tags_header" in one. A response with more than 64 tags, or longer ones than 64 bytes, is not stored.',
    source: 'gw',
  },
  proxy_force_ranges: {
    contexts: HSL,
    args: flag,
    into: 'forceRanges',
    default: false,
    summary: 'Serves ranges of stored responses even if the upstream did not send Accept-Ranges.',
    source: source('proxy_force_ranges'),
  },
});
