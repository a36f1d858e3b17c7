import { type ArgReader, directivesFor, readers, readRegex } from '../../../config/index.ts';
import type { CoreConfig, GzipProxied, RegexConfig } from '../../../contract/index.ts';

const HSL = ['http', 'server', 'location'] as const;

const PROXIED: readonly GzipProxied[] = [
  'off',
  'expired',
  'no-cache',
  'no-store',
  'private',
  'no_last_modified',
  'no_etag',
  'auth',
  'any',
];

const proxied: ArgReader<readonly GzipProxied[]> = readers.words(
  { syntax: `${PROXIED.join(' | ')} ...`, min: 1, max: Infinity },
  (words, { report }) => {
    const flags: GzipProxied[] = [];
    for (const word of words) {
      const flag = PROXIED.find((known) => known === word.value);
      if (flag && !flags.includes(flag)) flags.push(flag);
      else if (flag)
        report.warn(`duplicate value "${word.value}"`, word.span, { rule: 'duplicate-directive' });
      else {
        report.emerg(`invalid value "${word.value}"`, word.span, readers.expectedNames(word, PROXIED));
        return undefined;
      }
    }
    return flags;
  },
);

const disabled: ArgReader<readonly (RegexConfig | 'msie6')[]> = readers.words(
  { syntax: 'msie6 | regex ...', min: 1, max: Infinity },
  (words, scope) => {
    const patterns = words
      // nginx can be built to recognize low memory; gw cannot.
      .filter(({ value }) => value !== 'degradation')
      .map((word) =>
        word.value === 'msie6' ? 'msie6' : readRegex(word, { skip: 0, caseless: true }, scope),
      );
    return patterns.every((pattern) => pattern !== undefined) ? patterns : undefined;
  },
);

/** Directives that decide which clients get compressed responses; used by `gzip`, `gunzip` and `gzip_static`. */
export const compression = directivesFor<CoreConfig>()({
  gzip_vary: {
    contexts: HSL,
    args: readers.flag,
    into: 'gzipVary',
    default: false,
    summary: 'Whether responses that may be compressed get `Vary: Accept-Encoding`.',
    source: 'nginx ngx_http_gzip_module#gzip_vary',
  },
  gzip_http_version: {
    contexts: HSL,
    args: readers.oneOf('1.0', '1.1'),
    into: 'gzipHttpVersion',
    default: '1.1',
    summary: 'Minimum HTTP version of requests whose responses are compressed.',
    source: 'nginx ngx_http_gzip_module#gzip_http_version',
  },
  gzip_proxied: {
    contexts: HSL,
    args: proxied,
    into: 'gzipProxied',
    default: ['off'],
    defaultText: 'off',
    summary: 'Which responses to requests with a `Via` header are compressed.',
    source: 'nginx ngx_http_gzip_module#gzip_proxied',
  },
  gzip_disable: {
    contexts: HSL,
    args: disabled,
    into: 'gzipDisable',
    summary: 'Clients whose responses are not compressed, by `User-Agent`.',
    source: 'nginx ngx_http_gzip_module#gzip_disable',
  },
});
