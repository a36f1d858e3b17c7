import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import type { Span, Word } from '../../../grammar/index.ts';
import { nearest, readers } from '../../config/index.ts';
import { namesFile } from './file-value.ts';

/** The values of libpq's `sslmode`. */
const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];

/** An address of a server; a `host` that begins with `/` is the directory of a Unix socket. */
export interface Host {
  readonly host: string;
  readonly port: number;
}

/** The parameters of a connection, as plain data. Hosts are tried in order. */
export interface ConnectionTarget {
  readonly hosts: readonly Host[];
  /** The operating system's user name if absent. */
  readonly user?: string;
  /** The same as the user if absent. */
  readonly database?: string;
  readonly password?: string;
  readonly sslMode: SslMode;
  readonly sslRootCert?: string;
  readonly sslCert?: string;
  readonly sslKey?: string;
  readonly connectTimeoutMs: number;
  readonly options?: string;
  readonly applicationName: string;
  readonly keepAlive: boolean;
  readonly keepAliveIdleMs: number;
}

/** The database of `dbrest_pass`: a server, or the embedded one with its absolute data directory. */
export type DbrestPass =
  | { readonly kind: 'server'; readonly target: ConnectionTarget }
  | { readonly kind: 'embedded'; readonly dir: string };

/** A fault of a connection string: the message, its range in the text (UTF-16 offsets), and optionally a hint. */
interface DsnFault {
  readonly message: string;
  readonly start: number;
  readonly end: number;
  readonly hint?: string;
}

/** A `keyword=value` with its range in the text. */
interface DsnPair {
  readonly keyword: string;
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

/** Thrown in this file only; `readDsn` converts it to a `DsnFault`. */
class DsnError extends Error implements DsnFault {
  readonly start: number;
  readonly end: number;
  readonly hint?: string;

  constructor(message: string, { start, end }: { start: number; end: number }, hint?: string) {
    super(message);
    this.start = start;
    this.end = end;
    if (hint !== undefined) this.hint = hint;
  }
}

/** The superuser of the embedded server, which gw logs in as. */
export const EMBEDDED_ROLE = 'postgres';

/** The role that gw logs in with. */
export function loginRoleOf(pass: DbrestPass): string {
  return pass.kind === 'embedded' ? EMBEDDED_ROLE : (pass.target.user ?? userInfo().username);
}

/** The name of a database in messages and metrics, without secrets. */
export function targetName({ hosts, database }: ConnectionTarget): string {
  return `${hosts.map(({ host, port }) => `${host}:${port}`).join(',')}/${database ?? ''}`;
}

/** Tells databases and login roles apart, without their passwords; the same in each run. */
export function identityOf(pass: DbrestPass): string {
  if (pass.kind === 'embedded') return `embedded ${pass.dir}`;
  return JSON.stringify([targetName(pass.target), pass.target.user, pass.target.options]);
}

/** `scheme://[user[:password]@][hosts][/database][?keyword=value&…]`, split as libpq does. */
const SHAPE =
  /^(postgres(?:ql)?:\/\/)(?:([^:@/?#]*)(?::([^@/?#]*))?@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;

const URI_FORM = 'postgresql://user:password@host:port/dbname';

/** Returns whether libpq reads a text as a URI. */
function isUri(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text);
}

/**
 * Splits `postgresql://user:password@h1:5432,[::1]/db?sslmode=require` (PostgreSQL documentation, 34.1.1.2). Throws a
 * `DsnError`.
 */
function scanUri(text: string): DsnPair[] {
  const match = SHAPE.exec(text);
  if (!match) {
    throw new DsnError('malformed URI', { start: 0, end: text.length }, `expected ${URI_FORM}`);
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

/** Splits `a:1,[::1]:2` into the comma-separated values of libpq's keywords `host` and `port`. */
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

const SPACE = /\s/;

/**
 * Splits `host=a port=5432 password='it\'s'`, with libpq's rules for blanks, quotes and backslashes (PostgreSQL
 * documentation, 34.1.1.1). Throws a `DsnError`.
 */
function scanKeywords(text: string): DsnPair[] {
  if (!text.includes('=') && text.trim() !== '') {
    const range = { start: 0, end: text.length };
    throw new DsnError('neither a URI nor keywords', range, `expected ${URI_FORM} or host=… dbname=…`);
  }
  const pairs: DsnPair[] = [];
  let at = skipBlanks(text, 0);
  while (at < text.length) {
    const start = at;
    while (at < text.length && text[at] !== '=' && !SPACE.test(text[at] as string)) at += 1;
    const keyword = text.slice(start, at);
    const end = at;
    at = skipBlanks(text, at);
    if (keyword === '') throw new DsnError('no keyword before "="', { start, end: start + 1 });
    if (text[at] !== '=')
      throw new DsnError('no "=" after a keyword', { start, end }, 'expected keyword=value');
    const value = scanValue(text, skipBlanks(text, at + 1));
    pairs.push({ keyword, value: value.text, start, end: value.end });
    at = skipBlanks(text, value.end);
  }
  return pairs;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && SPACE.test(text[at] as string)) at += 1;
  return at;
}

function scanValue(text: string, from: number): { text: string; end: number } {
  const quoted = text[from] === "'";
  let at = quoted ? from + 1 : from;
  let value = '';
  while (at < text.length && (quoted ? text[at] !== "'" : !SPACE.test(text[at] as string))) {
    if (text[at] === '\\' && at + 1 < text.length) at += 1;
    value += text[at];
    at += 1;
  }
  if (!quoted) return { text: value, end: at };
  if (at === text.length) throw new DsnError('no closing quote', { start: from, end: at });
  return { text: value, end: at + 1 };
}

type Values = { -readonly [K in keyof ConnectionTarget]?: ConnectionTarget[K] } & {
  hostNames?: string[];
  ports?: string[];
};

const DEFAULT_PORT = 5432;
/** The usual directories of the socket, then TCP. */
const DEFAULT_HOSTS = ['/var/run/postgresql', '/tmp', 'localhost'];

/** The supported keywords of libpq (PostgreSQL documentation, 34.1.2). */
const KEYWORDS = new Map<string, (values: Values, pair: DsnPair) => void>([
  ['host', (values, { value }) => void (values.hostNames = value.split(','))],
  [
    'port',
    (values, pair) => void (values.ports = pair.value.split(',').map((port) => checkPort(port, pair))),
  ],
  ['dbname', (values, { value }) => void (values.database = value)],
  ['user', (values, { value }) => void (values.user = value)],
  ['password', (values, { value }) => void (values.password = value)],
  ['sslmode', (values, pair) => void (values.sslMode = oneOf(SSL_MODES, pair) as SslMode)],
  ['sslrootcert', (values, { value }) => void (values.sslRootCert = value)],
  ['sslcert', (values, { value }) => void (values.sslCert = value)],
  ['sslkey', (values, { value }) => void (values.sslKey = value)],
  ['connect_timeout', (values, pair) => void (values.connectTimeoutMs = connectTimeoutMs(seconds(pair)))],
  ['options', (values, { value }) => void (values.options = value)],
  ['application_name', (values, { value }) => void (values.applicationName = value)],
  ['fallback_application_name', (values, { value }) => void (values.applicationName ??= value)],
  ['keepalives', (values, pair) => void (values.keepAlive = oneOf(['0', '1'], pair) === '1')],
  ['keepalives_idle', (values, pair) => void (values.keepAliveIdleMs = seconds(pair) * 1000)],
  // These have no effect, so only values that match gw's behaviour are accepted.
  ['client_encoding', (_, pair) => void oneOf(['utf8', 'UTF8', 'utf-8', 'UTF-8', 'auto'], pair)],
  ['gssencmode', (_, pair) => void oneOf(['disable', 'prefer'], pair)],
  ['target_session_attrs', (_, pair) => void oneOf(['any'], pair)],
]);

/** Keywords of libpq that gw does not support; they are rejected instead of ignored. */
const UNSUPPORTED = new Set(
  `channel_binding gsslib gssdelegation hostaddr keepalives_count keepalives_interval krbsrvname load_balance_hosts
  max_protocol_version min_protocol_version passfile replication require_auth requirepeer service servicefile
  ssl_max_protocol_version ssl_min_protocol_version sslcertmode sslcompression sslcrl sslcrldir sslnegotiation
  sslpassword sslsni tcp_user_timeout`.split(/\s+/),
);

/** Converts pairs to a target with libpq's defaults; the last of equal keywords wins. Throws a `DsnError`. */
function connectionTarget(
  pairs: readonly DsnPair[],
  whole: { start: number; end: number },
): ConnectionTarget {
  const values: Values = {};
  for (const pair of pairs) {
    const set = KEYWORDS.get(pair.keyword);
    if (set) set(values, pair);
    else refuseKeyword(pair);
  }
  const { hostNames, ports, ...rest } = values;
  return {
    hosts: hostList(
      hostNames ?? DEFAULT_HOSTS,
      ports ?? [],
      pairs.find(({ keyword }) => keyword === 'port') ?? whole,
    ),
    sslMode: 'prefer',
    connectTimeoutMs: 5_000,
    applicationName: 'gw',
    keepAlive: true,
    keepAliveIdleMs: 30_000,
    ...rest,
  };
}

function refuseKeyword({ keyword, start }: DsnPair): never {
  const range = { start, end: start + keyword.length };
  if (UNSUPPORTED.has(keyword)) throw new DsnError(`"${keyword}" is not supported yet`, range);
  const near = nearest(keyword, KEYWORDS.keys());
  const hint =
    near === undefined ? 'expected host, port, dbname, user, password …' : `did you mean "${near}"?`;
  throw new DsnError(`unknown keyword "${keyword}"`, range, hint);
}

function hostList(
  names: readonly string[],
  ports: readonly string[],
  blame: { start: number; end: number },
): Host[] {
  if (ports.length > 1 && ports.length !== names.length) {
    throw new DsnError(`${ports.length} ports for ${names.length} hosts`, blame);
  }
  return names.map((name, i) => ({
    host: name === '' ? (DEFAULT_HOSTS[0] as string) : name,
    port: Number((ports.length === 1 ? ports[0] : ports[i]) || DEFAULT_PORT),
  }));
}

function checkPort(port: string, pair: DsnPair): string {
  const given = Number(port);
  if (port === '' || (/^\d{1,5}$/.test(port) && given >= 1 && given <= 65_535)) return port;
  throw new DsnError('invalid port', pair, 'expected 1 to 65535');
}

function seconds(pair: DsnPair): number {
  if (/^\d{1,6}$/.test(pair.value)) return Number(pair.value);
  throw new DsnError(`invalid "${pair.keyword}"`, pair, 'expected a number of seconds');
}

/** In libpq 0 means no timeout and 1 means 2. gw replaces no timeout by one hour. */
function connectTimeoutMs(given: number): number {
  return given === 0 ? 3_600_000 : Math.max(2, given) * 1000;
}

function oneOf(allowed: readonly string[], pair: DsnPair): string {
  if (allowed.includes(pair.value)) return pair.value;
  throw new DsnError(`invalid "${pair.keyword}"`, pair, `expected ${allowed.join(', ')}`);
}

/**
 * Reads a connection string of libpq, in keywords or as a URI, or returns its first fault. Reads neither the environment
 * nor a password file.
 */
export function readDsn(text: string): ConnectionTarget | { readonly fault: DsnFault } {
  try {
    return connectionTarget(isUri(text) ? scanUri(text) : scanKeywords(text), { start: 0, end: text.length });
  } catch (error) {
    if (error instanceof DsnError) return { fault: error };
    throw error;
  }
}

/** The data directory of the embedded database if `dbrest_pass` names none. */
export const DEFAULT_EMBEDDED_DIR = '.gw/pg';

/** Reads the arguments of `dbrest_pass`: `embedded[:dir]`, a URI, or keywords, as one quoted word or several words. */
export const passReader = readers.words<DbrestPass>(
  { syntax: 'dsn | embedded[:dir]', min: 1, max: Infinity },
  (list, scope) => {
    const { directive, prefix, report } = scope;
    if (namesFile(list[0] as Word, scope)) return undefined;
    const embedded = list.length === 1 ? /^embedded(?::(.+))?$/.exec((list[0] as Word).value) : null;
    if (embedded) return { kind: 'embedded', dir: resolve(prefix, embedded[1] ?? DEFAULT_EMBEDDED_DIR) };

    const read = readDsn(list.map((word) => word.value).join(' '));
    if (!('fault' in read)) return { kind: 'server', target: read };
    const { fault } = read;
    const { word, span } = spanOf(list, fault.start, fault.end);
    // The message may quote a part of the connection string, which may be secret.
    const message = word.secret ? 'malformed connection string' : fault.message;
    report.emerg(`invalid value in "${directive}" directive, ${message}`, span, {
      hint: fault.hint,
      rule: 'dbrest-dsn',
    });
    return undefined;
  },
);

/** Maps offsets in the joined words to a span in the source; the whole word if unquoting has shifted its characters. */
function spanOf(list: readonly Word[], start: number, end: number): { word: Word; span: Span } {
  let offset = 0;
  for (const word of list) {
    const last = word === list.at(-1);
    if (start < offset + word.value.length || last) {
      const from = word.span.start + word.quote.length;
      const verbatim = word.span.source.text.startsWith(word.value, from);
      if (!verbatim || word.value === '') return { word, span: word.span };
      const first = Math.min(start - offset, word.value.length - 1);
      const until = Math.max(first + 1, Math.min(end - offset, word.value.length));
      return { word, span: { source: word.span.source, start: from + first, end: from + until } };
    }
    offset += word.value.length + 1;
  }
  throw new Error('a directive has at least one word');
}
