import { resolve } from 'node:path';
import type { Word } from '../../../grammar/index.ts';
import { readers } from '../../config/index.ts';
import type { ArgReader, ReadScope } from '../../config/index.ts';
import type { FileName, SessionCache, TlsVersion } from '../../contract/index.ts';

/** What one session takes in nginx's shared cache: 4000 to a megabyte. */
const SESSION_BYTES = 262;
const BUILT_IN_SESSIONS = 20_480;
/** nginx: eight pages, so that the cache can be managed. */
const SMALLEST_CACHE_BYTES = 8 * 4096;

const VERSIONS: readonly TlsVersion[] = ['SSLv2', 'SSLv3', 'TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];

/** A file that lies beside the configuration. */
export const file: ArgReader<FileName> = readers.oneWord('file', (word, scope) => readFile(word, scope));

/** A certificate or key: a file, neither made up by the request nor kept by an engine. */
export const secretFile: ArgReader<FileName> = readers.oneWord('file', (word, scope) => {
  const { value, span } = word;
  const refusal = value.includes('$')
    ? ['variables are not supported in the name of a certificate', 'name one server per certificate']
    : /^(engine|data|store):/.test(value) && [
        `"${value.split(':', 1)[0]}:" is not supported`,
        'name a PEM file',
      ];
  if (!refusal) return readFile(word, scope);
  scope.report.emerg(`${refusal[0]} by "${scope.directive}"`, span, refusal[1]);
  return undefined;
});

function readFile({ value }: Word, { confDir }: ReadScope): FileName {
  return { text: value, path: resolve(confDir, value) };
}

/** `ssl_protocols`. */
export const protocols: ArgReader<readonly TlsVersion[]> = readers.words(
  { syntax: '[SSLv2] [SSLv3] [TLSv1] [TLSv1.1] [TLSv1.2] [TLSv1.3]', min: 1, max: Infinity },
  (words, { report }) => {
    const versions: TlsVersion[] = [];
    for (const word of words) {
      const { value, span } = word;
      const version = VERSIONS.find((name) => name.toLowerCase() === value.toLowerCase());
      if (!version) {
        report.emerg(`invalid value "${value}"`, span, readers.expectedOf(word, VERSIONS));
        return undefined;
      }
      if (versions.includes(version))
        report.warn(`duplicate value "${value}"`, span, { rule: 'duplicate-directive' });
      versions.push(version);
    }
    return versions;
  },
);

/** `ssl_session_cache`; of several caches the shared one counts. */
export const sessionCache: ArgReader<SessionCache> = readers.words(
  { syntax: 'off | none | [builtin[:size]] [shared:name:size]', min: 1, max: 2 },
  (words, scope) => {
    const caches = words.map((word) => readCache(word, scope));
    return caches.includes(undefined) ? undefined : caches.at(-1);
  },
);

function readCache(word: Word, scope: ReadScope): SessionCache | undefined {
  const { value, span } = word;
  if (value === 'off' || value === 'none') return value;
  const [, builtInSize] = /^builtin(?::(\d+))?$/.exec(value) ?? [];
  if (value.startsWith('builtin') && (value === 'builtin' || builtInSize !== undefined)) {
    return { name: '', sessions: Number(builtInSize ?? BUILT_IN_SESSIONS) };
  }
  const [, name, size] = /^shared:([^:]+):([^:]+)$/.exec(value) ?? [];
  const bytes = size === undefined ? undefined : readers.size.read([{ ...word, value: size }], scope);
  if (name === undefined || bytes === undefined) {
    scope.report.emerg(`invalid session cache "${value}"`, span);
    return undefined;
  }
  if (bytes < SMALLEST_CACHE_BYTES) {
    scope.report.emerg(`session cache "${value}" is too small`, span);
    return undefined;
  }
  return { name, sessions: Math.floor(bytes / SESSION_BYTES) };
}

/** `ssl_conf_command name value`. */
export const command: ArgReader<readonly [string, string]> = readers.words(
  { syntax: 'name value', min: 2, max: 2 },
  ([name, value]) => [(name as Word).value, (value as Word).value],
);
