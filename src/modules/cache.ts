import { resolve } from 'node:path';
import type { Word } from '../../grammar/index.ts';
import type { CachePlan } from '../cache/index.ts';
import {
  type ArgReader,
  defines,
  directivesFor,
  pathFrom,
  readers,
  type ReadScope,
  type Rows,
} from '../config/index.ts';
import { type CacheConfig, moduleFor } from '../contract/index.ts';

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
const cachePath: ArgReader<CachePlan> = readers.words(
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

const AT_ONCE = 'what is purged is removed at once';

/** The parameters without effect: those of the purger of nginx's paid edition. */
const PURGER: Readonly<Record<string, string>> = {
  'purger=': AT_ONCE,
  'purger_files=': AT_ONCE,
  'purger_sleep=': AT_ONCE,
  'purger_threshold=': AT_ONCE,
};

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
  if (Object.hasOwn(PURGER, `${name}=`)) return true;
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

/** Protocols whose responses are stored. A cache serves all of them, whichever directive declares it. */
const PROTOCOLS = ['proxy', 'fastcgi', 'uwsgi', 'scgi'];

const declarations = (protocol: string): Rows<CacheConfig> =>
  directivesFor<CacheConfig>()({
    [`${protocol}_cache_path`]: {
      contexts: ['http'],
      args: cachePath,
      into: 'paths',
      repeat: 'append',
      inherit: false,
      summary:
        'A cache of responses: its directory, and the shared memory of its index. Entries survive a restart; those that nobody asks for during "inactive" are removed. Unfinished files lie in the directory itself, as with use_temp_path=off in nginx.',
      roles: [
        ...defines('response cache', { word: 'any', behind: ['keys_zone='], until: ':' }),
        ...pathFrom('prefix'),
      ],
      ignores: PURGER,
      source: `nginx ngx_http_${protocol}_module#${protocol}_cache_path`,
    },
  });

const directives: Rows<CacheConfig> = Object.assign({}, ...PROTOCOLS.map(declarations));

/** The caches of responses, which locations store in: each has one declaration and one directory. */
export const cache = moduleFor<CacheConfig>()({
  name: 'cache',
  summary: 'Stores for responses, on disk and in memory.',
  directives,
  enabled: ({ paths }) => paths !== undefined,
  validate({ paths = [] }, report) {
    for (const [index, { name }] of paths.entries()) {
      if (paths.findIndex((path) => path.name === name) < index)
        report.phrase('paths', `duplicate zone "${name}"`, { index, rule: 'duplicate-directive' });
    }
  },
  writes: ({ paths = [] }) => ({ directories: paths.map(({ path }) => path) }),
  compile: () => ({}),
});
