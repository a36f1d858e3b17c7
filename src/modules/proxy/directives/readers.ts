import type { Word } from '../../../../grammar/index.ts';
import { type ArgReader, readers, readRegex, type ReadScope } from '../../../config/index.ts';
import type { CookieFlagsRule, CookieRule, Pattern, RedirectRule, Replacement } from '../config.ts';

/** A name of a protocol, with or without a version (RFC 9110, 7.8). */
const PROTOCOL = /^[\w!#$%&'*+.^`|~-]+(?:\/[\w!#$%&'*+.^`|~-]+)?$/;

/** `proxy_upgrade_protocols`; in lower case. */
export const protocols: ArgReader<readonly string[]> = readers.words(
  { syntax: 'protocol ...', min: 1, max: Infinity },
  (words, { report }) => {
    const wrong = words.find(({ value }) => !PROTOCOL.test(value));
    if (!wrong) return words.map(({ value }) => value.toLowerCase());
    report.emerg(
      `invalid protocol "${wrong.value}"`,
      wrong.span,
      'expected a name such as "websocket" or "SPDY/3.1"',
    );
    return undefined;
  },
);

/** `proxy_redirect default | off | redirect replacement`. */
export const redirectRule: ArgReader<RedirectRule> = readers.words(
  { syntax: 'default | off | redirect replacement', min: 1, max: 2 },
  (words, scope) => {
    const [first, second] = words as [Word, Word?];
    if (second) return replacement(first, second, { scope, caseless: false });
    if (first.value === 'off' || first.value === 'default') return first.value;
    scope.report.emerg(
      `invalid parameter "${first.value}"`,
      first.span,
      'expected default, off, or two values',
    );
    return undefined;
  },
);

/** `proxy_cookie_domain` and `proxy_cookie_path`: `off | text replacement`. */
export function cookieRule(kind: 'domain' | 'path'): ArgReader<CookieRule> {
  return readers.words({ syntax: `off | ${kind} replacement`, min: 1, max: 2 }, (words, scope) => {
    const [first, second] = words as [Word, Word?];
    const caseless = kind === 'domain';
    if (second) return replacement(first, second, { scope, caseless });
    if (first.value === 'off') return 'off';
    scope.report.emerg(`invalid parameter "${first.value}"`, first.span, 'expected off, or two values');
    return undefined;
  });
}

const FLAGS: ReadonlySet<string> = new Set([
  'secure',
  'nosecure',
  'httponly',
  'nohttponly',
  'samesite',
  'samesite=strict',
  'samesite=lax',
  'samesite=none',
  'nosamesite',
]);

/** `proxy_cookie_flags off | cookie flag ...`. */
export const cookieFlagsRule: ArgReader<CookieFlagsRule> = readers.words(
  { syntax: 'off | cookie [flag ...]', min: 1, max: 5 },
  ([first, ...rest], scope) => {
    const cookie = first as Word;
    if (rest.length === 0) {
      if (cookie.value === 'off') return 'off';
      scope.report.emerg(
        `invalid parameter "${cookie.value}"`,
        cookie.span,
        'expected off, or flags behind the name',
      );
      return undefined;
    }
    const wrong = rest.find(({ value }) => !value.includes('$') && !FLAGS.has(value.toLowerCase()));
    if (wrong) {
      scope.report.emerg(
        `invalid parameter "${wrong.value}"`,
        wrong.span,
        `expected ${[...FLAGS].join(', ')}`,
      );
      return undefined;
    }
    const pattern = readPattern(cookie, { scope, caseless: true });
    return pattern && { cookie: pattern, flags: rest.map((flag) => scope.complexValue(flag)) };
  },
);

interface PatternScope {
  readonly scope: ReadScope;
  /** Regexes ignore case even if they do not begin with `~*`. */
  readonly caseless: boolean;
}

function replacement(what: Word, by: Word, where: PatternScope): Replacement | undefined {
  const pattern = readPattern(what, where);
  return pattern && { pattern, by: where.scope.complexValue(by) };
}

function readPattern(word: Word, { scope, caseless }: PatternScope): Pattern | undefined {
  const { value } = word;
  if (!value.startsWith('~')) return { kind: 'text', value: scope.complexValue(word) };
  const hasStar = value.startsWith('~*');
  const regex = readRegex(word, { skip: hasStar ? 2 : 1, caseless: caseless || hasStar }, scope);
  return regex && { kind: 'regex', regex };
}
