import { defines, directivesFor, pathFrom, type Rows } from '../../config/index.ts';
import { type CacheConfig, moduleFor } from '../../contract/index.ts';
import { cachePath, PURGER } from './cache-path.ts';

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
