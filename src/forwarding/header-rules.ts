import type { Word } from '../../grammar/index.ts';
import { type ArgReader, type ComplexValue, readers } from '../config/index.ts';
import { HttpFault, isSafeHeaderValue } from '../http/index.ts';
import { connectionOptions, HOP_BY_HOP } from '../http1/index.ts';

/** `proxy_set_header name value`. */
export interface HeaderRule {
  readonly name: string;
  readonly value: ComplexValue;
}

/** Characters of a header name (RFC 9110, 5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Reads `name value`. */
export const headerRule: ArgReader<HeaderRule> = readers.words(
  { syntax: 'name value', min: 2, max: 2 },
  (words, scope) => {
    const [name, value] = words as [Word, Word];
    if (TOKEN.test(name.value)) return { name: name.value, value: scope.complexValue(value) };
    scope.report.emerg(`invalid header name "${name.value}"`, name.span);
    return undefined;
  },
);

/** Headers of the client that are not passed on, besides the hop-by-hop ones, because gw writes its own. */
export const NOT_PASSED: readonly string[] = [
  ...HOP_BY_HOP,
  'expect',
  // CGI programs would get it as the environment variable HTTP_PROXY.
  'proxy',
  'host',
  'content-length',
];

/** Headers that no rule can set: they must agree with the body that gw sends. */
const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);

/**
 * Returns the rules that apply. Only the first `Host` is kept: nginx would send all of them, and two parsers could
 * choose different ones.
 */
export function applicableRules(rules: readonly HeaderRule[] = []): readonly HeaderRule[] {
  const nameOf = (rule: HeaderRule): string => rule.name.toLowerCase();
  const host = rules.find((rule) => nameOf(rule) === 'host');
  return rules.filter((rule) => !FRAMING.has(nameOf(rule)) && (rule === host || nameOf(rule) !== 'host'));
}

/** Checks the value of a configured header: it must not contain a byte that ends the line. */
export function checkedValue(name: string, value: string): string {
  if (isSafeHeaderValue(value)) return value;
  throw new HttpFault(500, `control character in the value of "${name}" for an upstream`);
}

/** Headers that are passed on even if `Connection` names them: without them the request would mean something else. */
const NEVER_HOP: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'content-length',
  'cookie',
  'content-type',
]);

const COMMON: ReadonlySet<string> = new Set([
  'keep-alive',
  'close',
  'upgrade',
  'Keep-Alive',
  'Close',
  'Upgrade',
]);

/** Adds the names in the client's `Connection` header, which end with this hop. */
export function withHops(
  known: ReadonlySet<string> | undefined,
  connection: string,
): ReadonlySet<string> | undefined {
  if (COMMON.has(connection)) return known;
  const named = connectionOptions(connection).filter(
    (option) => option !== 'close' && option !== 'keep-alive' && !NEVER_HOP.has(option),
  );
  return named.length === 0 ? known : new Set([...(known ?? []), ...named]);
}
