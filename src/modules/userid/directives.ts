import { type ArgReader, directivesFor, readers } from '../../config/index.ts';

/** The userid configuration of one location. */
export interface UserIdConfig {
  /** `log`: cookies are read, but not set. `v1`: the format of the first version, in host byte order. */
  readonly mode: 'on' | 'v1' | 'log' | 'off';
  readonly name: string;
  /** '' for none. */
  readonly domain: string;
  readonly path: string;
  /** Lifetime of the cookie in seconds; 0: until the browser is closed. */
  readonly expires: number | 'max';
  /** As they are written in the cookie. */
  readonly flags: readonly string[];
  /** The character that replaces the first `=` at the end of the cookie; '' to replace nothing. */
  readonly mark: string;
  /** '' for none. */
  readonly p3p: string;
  /** Absent: the local address of the connection is used. */
  readonly service?: number;
}

const HSL = ['http', 'server', 'location'] as const;
const FLAGS = ['secure', 'httponly', 'samesite=strict', 'samesite=lax', 'samesite=none'] as const;

/** Reads a text, or the word that means an empty text. */
const textOr = (none: string, syntax: string): ArgReader<string> =>
  readers.oneWord(`${syntax} | ${none}`, ({ value }) => (value === none ? '' : value));

const expires: ArgReader<number | 'max'> = readers.oneWord('time | max | off', (word, scope) => {
  if (word.value === 'max') return word.value;
  if (word.value === 'off') return 0;
  const ms = readers.parseTimeMs(word.value);
  if (ms !== undefined) return Math.floor(ms / 1000);
  scope.report.emerg(
    `"${scope.directive}" directive invalid value`,
    word.span,
    'expected a time such as 30d, max or off',
  );
  return undefined;
});

const flags: ArgReader<readonly string[]> = readers.words(
  { syntax: 'off | flag ...', min: 1, max: Infinity },
  (words, { report }) => {
    if (words[0]?.value === 'off') return [];
    for (const word of words) {
      if (FLAGS.some((flag) => flag === word.value)) continue;
      report.emerg(`invalid value "${word.value}"`, word.span, readers.expectedNames(word, FLAGS));
      return undefined;
    }
    // The cookie has the flags in this order (nginx).
    return FLAGS.filter((flag) => words.some(({ value }) => value === flag));
  },
);

const mark: ArgReader<string> = readers.oneWord('letter | digit | = | off', (word, scope) => {
  if (word.value === 'off') return '';
  if (/^[A-Za-z0-9=]$/.test(word.value)) return word.value;
  const predicate = 'value must be "off" or a single letter, digit or "="';
  scope.report.emerg(`"${scope.directive}" directive ${predicate}`, word.span);
  return undefined;
});

const service: ArgReader<number> = readers.oneWord('number', (word, scope) => {
  if (/^\d{1,15}$/.test(word.value)) return Number(word.value) % 2 ** 32;
  scope.report.emerg(`"${scope.directive}" directive invalid number`, word.span);
  return undefined;
});

const source = (name: string): string => `nginx ngx_http_userid_module#${name}`;

/** nginx's userid module. */
export const directives = directivesFor<UserIdConfig>()({
  userid: {
    contexts: HSL,
    args: readers.oneOf('on', 'v1', 'log', 'off'),
    into: 'mode',
    default: 'off',
    summary: 'Whether visitors get a cookie that identifies them.',
    source: source('userid'),
  },
  userid_name: {
    contexts: HSL,
    args: readers.text,
    into: 'name',
    default: 'uid',
    summary: 'Name of the cookie.',
    source: source('userid_name'),
  },
  userid_domain: {
    contexts: HSL,
    args: textOr('none', 'name'),
    into: 'domain',
    default: '',
    defaultText: 'none',
    summary: 'Domain of the cookie.',
    source: source('userid_domain'),
  },
  userid_path: {
    contexts: HSL,
    args: { ...readers.text, syntax: 'path' },
    into: 'path',
    default: '/',
    summary: 'Path of the cookie.',
    source: source('userid_path'),
  },
  userid_expires: {
    contexts: HSL,
    args: expires,
    into: 'expires',
    default: 0,
    defaultText: 'off',
    summary: 'How long browsers keep the cookie; off: until they are closed.',
    source: source('userid_expires'),
  },
  userid_flags: {
    contexts: HSL,
    args: flags,
    into: 'flags',
    default: [],
    defaultText: 'off',
    summary: 'Attributes of the cookie: secure, httponly, samesite=strict, lax or none.',
    source: source('userid_flags'),
  },
  userid_mark: {
    contexts: HSL,
    args: mark,
    into: 'mark',
    default: '',
    defaultText: 'off',
    summary: 'A character in the cookie; cookies without it are sent again with it.',
    source: source('userid_mark'),
  },
  userid_p3p: {
    contexts: HSL,
    args: textOr('none', 'string'),
    into: 'p3p',
    default: '',
    defaultText: 'none',
    summary: 'Value of the header `P3P` that is sent with the cookie.',
    source: source('userid_p3p'),
  },
  userid_service: {
    contexts: HSL,
    args: service,
    into: 'service',
    defaultText: 'the address that the request came in on',
    summary:
      'Number of the server that generates the cookie, so that several servers never generate the same.',
    source: source('userid_service'),
  },
});
