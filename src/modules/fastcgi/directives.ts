import type { Word } from '../../../grammar/index.ts';
import {
  type ArgReader,
  directivesFor,
  readers,
  readRegex,
  type ReadScope,
  type Rows,
  uses,
} from '../../config/index.ts';
import type { RegexConfig } from '../../contract/index.ts';
import { forwardingDirectives, paramReader, passAddress } from '../../forwarding/index.ts';
import type { FastcgiConfig } from './config.ts';

const HSL = ['http', 'server', 'location'] as const;
const source = (name: string): string => `nginx ngx_http_fastcgi_module#${name}`;

/** A pattern with captures for the script and the path after it. */
const splitPattern: ArgReader<RegexConfig> = readers.oneWord('regex', (word: Word, scope: ReadScope) => {
  const regex = readRegex(word, { skip: 0, caseless: false }, scope);
  if (!regex || regex.groups === 2) return regex;
  scope.report.emerg(`pattern "${word.value}" must have 2 captures`, word.span);
  return undefined;
});

const own = directivesFor<FastcgiConfig>()({
  fastcgi_pass: {
    contexts: ['location', 'location if'],
    args: passAddress({ '': 'fastcgi' }, 0),
    into: 'pass',
    inherit: 'nameless',
    summary:
      'Passes the request to a FastCGI program, such as php-fpm: `host:port`, `unix:/path` or a group.',
    roles: uses('upstream', { until: ':' }),
    source: source('fastcgi_pass'),
  },
  fastcgi_param: {
    contexts: [...HSL, 'location if'],
    args: paramReader,
    into: 'params',
    repeat: 'append',
    secret: 'named',
    summary: 'A parameter for the program. Like a header of the request, `HTTP_NAME` replaces it.',
    source: source('fastcgi_param'),
  },
  fastcgi_index: {
    contexts: HSL,
    args: readers.text,
    into: 'index',
    default: '',
    defaultText: 'none',
    summary: 'The file that is appended to `$fastcgi_script_name` if it ends in a slash.',
    source: source('fastcgi_index'),
  },
  fastcgi_split_path_info: {
    contexts: HSL,
    args: splitPattern,
    into: 'splitPathInfo',
    summary: 'Finds `$fastcgi_script_name` and `$fastcgi_path_info` in `$uri`: its two captures.',
    source: source('fastcgi_split_path_info'),
  },
  fastcgi_keep_conn: {
    contexts: HSL,
    args: readers.flag,
    into: 'keepsConnection',
    default: false,
    summary: 'Whether the program is asked to leave the connection open for further requests.',
    source: source('fastcgi_keep_conn'),
  },
  fastcgi_catch_stderr: {
    contexts: HSL,
    args: readers.text,
    into: 'catchStderr',
    repeat: 'append',
    summary:
      'If the program writes this to its standard error before its response, that is an invalid response.',
    source: source('fastcgi_catch_stderr'),
  },
});

/** nginx's FastCGI module. */
export const directives: Rows<FastcgiConfig> = {
  ...own,
  ...forwardingDirectives('fastcgi', {
    hide_header: 'Status and X-Accel-*',
    cache_key: '$scheme$host$request_uri',
  }),
};
