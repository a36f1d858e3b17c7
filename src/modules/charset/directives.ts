import { directivesFor, readers } from '../../config/index.ts';
import type { ComplexValue } from '../../config/index.ts';
import { readCharsetMap } from './charset-map.ts';
import type { CharsetMap } from './charset-map.ts';

export interface CharsetConfig {
  readonly charset: ComplexValue;
  readonly sourceCharset?: ComplexValue;
  readonly overrides: boolean;
  readonly types: readonly (readonly string[])[];
  readonly maps?: readonly CharsetMap[];
}

const HSL = ['http', 'server', 'location'] as const;
const HSLI = [...HSL, 'location if'] as const;

const OFF: ComplexValue = { parts: ['off'] };

const DEFAULT_TYPES = [
  'text/html',
  'text/xml',
  'text/plain',
  'text/vnd.wap.wml',
  'application/javascript',
  'application/rss+xml',
];

/** nginx's charset module. */
export const directives = directivesFor<CharsetConfig>()({
  charset: {
    contexts: HSLI,
    args: readers.value,
    into: 'charset',
    default: OFF,
    defaultText: 'off',
    summary: 'Charset that the `Content-Type` of answers names, or `off`.',
    source: 'nginx ngx_http_charset_module#charset',
  },
  source_charset: {
    contexts: HSLI,
    args: readers.value,
    into: 'sourceCharset',
    summary: 'Charset that bodies have; where it is not that of `charset`, they are recoded.',
    source: 'nginx ngx_http_charset_module#source_charset',
  },
  override_charset: {
    contexts: HSLI,
    args: readers.flag,
    into: 'overrides',
    default: false,
    summary: 'Whether answers that name a charset already are recoded too.',
    source: 'nginx ngx_http_charset_module#override_charset',
  },
  charset_types: {
    contexts: HSL,
    args: readers.mediaTypes,
    into: 'types',
    repeat: 'append',
    default: [DEFAULT_TYPES],
    defaultText: DEFAULT_TYPES.join(' '),
    summary: 'Media types that get a charset, besides text/html; `*` for all.',
    source: 'nginx ngx_http_charset_module#charset_types',
  },
  charset_map: {
    contexts: ['http'],
    data: readCharsetMap,
    words: { min: 2, max: 2 },
    syntax: 'charset1 charset2 { byte bytes; ... }',
    into: 'maps',
    merge: (before, added) => [...before, ...added],
    summary: 'What the bytes of one charset are in another, in hexadecimal.',
    source: 'nginx ngx_http_charset_module#charset_map',
  },
});
