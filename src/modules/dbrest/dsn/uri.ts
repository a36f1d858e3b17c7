import type { DsnPair } from './target.ts';
import { DsnError } from './target.ts';

/** `scheme://[user[:password]@][hosts][/database][?keyword=value&…]`, split as libpq does. */
const SHAPE =
  /^(postgres(?:ql)?:\/\/)(?:([^:@/?#]*)(?::([^@/?#]*))?@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;

/** True for a text that libpq reads as a URI. */
export function isUri(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text);
}

/** `postgresql://user:password@h1:5432,[::1]/db?sslmode=require` in pairs (PostgreSQL 34.1.1.2). Throws a `DsnError`. */
export function scanUri(text: string): DsnPair[] {
  const match = SHAPE.exec(text);
  if (!match) {
    throw new DsnError(
      'malformed URI',
      { start: 0, end: text.length },
      'expected postgresql://user:password@host:port/dbname',
    );
  }
  const [, scheme = '', user, password, hosts = '', database, query] = match;
  const pairs: DsnPair[] = [];
  let at = scheme.length;
  const add = (keyword: string, raw: string | undefined, skipped: number): void => {
    if (raw === undefined) return;
    const range = { start: at, end: at + raw.length };
    if (raw !== '') pairs.push({ keyword, value: decode(raw, range), ...range });
    at += raw.length + skipped;
  };
  add('user', user, 1);
  add('password', password, 1);
  pairs.push(...hostPairs(hosts, at));
  at += hosts.length + 1;
  add('dbname', database, 1);
  for (const parameter of query?.split('&') ?? []) {
    const equals = parameter.indexOf('=');
    const range = { start: at, end: at + parameter.length };
    if (equals < 1) throw new DsnError('no "=" in a URI parameter', range, 'expected keyword=value');
    const value = decode(parameter.slice(equals + 1), range);
    pairs.push({ keyword: decode(parameter.slice(0, equals), range), value, ...range });
    at += parameter.length + 1;
  }
  return pairs;
}

/** `a:1,[::1]:2` as the two comma lists that libpq's keywords take. */
function hostPairs(hosts: string, start: number): DsnPair[] {
  if (hosts === '') return [];
  const range = { start, end: start + hosts.length };
  const names: string[] = [];
  const ports: string[] = [];
  for (const part of hosts.split(',')) {
    const match = /^(?:\[([^\]]+)\]|([^:[\]]*))(?::(\d*))?$/.exec(part);
    if (!match) throw new DsnError('malformed host', range, 'expected host, host:port or [IPv6]:port');
    names.push(decode(match[1] ?? match[2] ?? '', range));
    ports.push(match[3] ?? '');
  }
  const pairs = [{ keyword: 'host', value: names.join(','), ...range }];
  if (ports.some((port) => port !== '')) pairs.push({ keyword: 'port', value: ports.join(','), ...range });
  return pairs;
}

function decode(raw: string, range: { start: number; end: number }): string {
  try {
    return decodeURIComponent(raw);
  } catch {
    throw new DsnError('invalid percent-encoding', range);
  }
}
