import { isIP } from 'node:net';
import { homedir, userInfo } from 'node:os';
import { nearest } from '../config/index.ts';
import { readPasswordFile } from './password-file.ts';
import { readService, ServiceFault, type Surroundings } from './service-file.ts';

/** The values of libpq's `sslmode`. */
const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];

/** An address of a server; a `host` that begins with `/` is the directory of a Unix socket. */
export interface Host {
  readonly host: string;
  readonly port: number;
  /** The address to connect to instead (`hostaddr`); `host` is then the name in the server's certificate. */
  readonly address?: string;
  /** From a password file; the `password` of the target takes precedence. */
  readonly password?: string;
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

/** A fault of a connection string: the message, its range in the text (UTF-16 offsets), and optionally a hint. */
interface DsnFault {
  readonly message: string;
  /** The message quotes no part of the connection string. */
  readonly isPublic?: true;
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
  readonly isPublic?: true;

  constructor(message: string, { start, end }: { start: number; end: number }, hint?: string) {
    super(message);
    this.start = start;
    this.end = end;
    if (hint !== undefined) this.hint = hint;
  }
}

/** A fault of a service; `range` is the place of its name. */
class ServiceError extends DsnError {
  override readonly isPublic = true;
}

/** The name of a database in messages and metrics, without secrets. */
export function targetName({ hosts, database }: ConnectionTarget): string {
  return `${hosts.map(({ host, port }) => `${host}:${port}`).join(',')}/${database ?? ''}`;
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

/** A pair of a service; its range is that of the service's name in the text. */
interface ServicePair extends DsnPair {
  readonly where: string;
}

/** A part of the connection string. */
interface Range {
  readonly start: number;
  readonly end: number;
}

interface HostLists {
  readonly hostNames: readonly string[] | undefined;
  readonly addresses: readonly string[] | undefined;
  readonly ports: readonly string[];
}

type Values = { -readonly [K in keyof ConnectionTarget]?: ConnectionTarget[K] } & {
  hostNames?: string[];
  addresses?: string[];
  ports?: string[];
  passfile?: string;
};

const DEFAULT_PORT = 5432;
/** The usual directories of the socket, then TCP. */
const DEFAULT_HOSTS = ['/var/run/postgresql', '/tmp', 'localhost'];

/** The supported keywords of libpq (PostgreSQL documentation, 34.1.2). */
const KEYWORDS = new Map<string, (values: Values, pair: DsnPair) => void>([
  ['host', (values, { value }) => void (values.hostNames = value.split(','))],
  ['hostaddr', (values, pair) => void (values.addresses = addressesIn(pair))],
  [
    'port',
    (values, pair) => void (values.ports = pair.value.split(',').map((port) => checkPort(port, pair))),
  ],
  ['dbname', (values, { value }) => void (values.database = value)],
  ['user', (values, { value }) => void (values.user = value)],
  ['password', (values, { value }) => void (values.password = value)],
  ['passfile', (values, { value }) => void (values.passfile = value)],
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
  // The service has been looked up before.
  ['service', () => undefined],
  ['servicefile', () => undefined],
  // These have no effect, so only values that match gw's behaviour are accepted.
  ['client_encoding', (_, pair) => void oneOf(['utf8', 'UTF8', 'utf-8', 'UTF-8', 'auto'], pair)],
  ['gssencmode', (_, pair) => void oneOf(['disable', 'prefer'], pair)],
  ['target_session_attrs', (_, pair) => void oneOf(['any'], pair)],
]);

/** Keywords of libpq that gw does not support; they are rejected instead of ignored. */
const UNSUPPORTED = new Set(
  `channel_binding gsslib gssdelegation keepalives_count keepalives_interval krbsrvname load_balance_hosts
  max_protocol_version min_protocol_version replication require_auth requirepeer
  ssl_max_protocol_version ssl_min_protocol_version sslcertmode sslcompression sslcrl sslcrldir sslnegotiation
  sslpassword sslsni tcp_user_timeout`.split(/\s+/),
);

/** Returns the pairs of the service that is named in the text or by `PGSERVICE`. Throws a `DsnError`. */
function servicePairs(pairs: readonly DsnPair[], whole: Range, around: Surroundings): ServicePair[] {
  const last = (keyword: string): DsnPair | undefined => pairs.findLast((pair) => pair.keyword === keyword);
  const named = last('service');
  const name = named?.value ?? around.env['PGSERVICE'];
  if (name === undefined || name === '') return [];
  const { start, end } = named ?? whole;
  try {
    const settings = readService(name, last('servicefile')?.value, around);
    return settings.map((setting) => ({ ...setting, start, end }));
  } catch (error) {
    if (error instanceof ServiceFault) throw new ServiceError(error.message, { start, end });
    throw error;
  }
}

function setFromService(values: Values, pair: ServicePair): void {
  const set = KEYWORDS.get(pair.keyword);
  const isKnown = set !== undefined || UNSUPPORTED.has(pair.keyword);
  const fault = isKnown ? 'a keyword that is not supported' : 'an unknown keyword';
  try {
    if (!set) throw new DsnError(fault, pair);
    set(values, pair);
  } catch (error) {
    if (error instanceof DsnError)
      throw new ServiceError(`${error.message} in ${pair.where}`, pair, error.hint);
    throw error;
  }
}

/** Converts pairs to a target with libpq's defaults; the last of equal keywords wins. Throws a `DsnError`. */
function connectionTarget(
  pairs: readonly DsnPair[],
  whole: Range,
  around: DsnSurroundings,
): ConnectionTarget {
  const values: Values = {};
  for (const pair of servicePairs(pairs, whole, around)) setFromService(values, pair);
  for (const pair of pairs) {
    const set = KEYWORDS.get(pair.keyword);
    if (set) set(values, pair);
    else refuseKeyword(pair);
  }
  const { hostNames, addresses, ports = [], passfile, ...rest } = values;
  const target = {
    hosts: hostList(
      { hostNames, addresses, ports },
      pairs.find(({ keyword }) => keyword === 'port') ?? whole,
    ),
    sslMode: 'prefer',
    connectTimeoutMs: 5_000,
    applicationName: 'gw',
    keepAlive: true,
    keepAliveIdleMs: 30_000,
    ...rest,
  } as const;
  const path = passfile ?? around.env['PGPASSFILE'];
  return path === undefined || path === '' || target.password !== undefined
    ? target
    : { ...target, hosts: withPasswords(target, readPasswordFile(path, around.warn)) };
}

function withPasswords(
  {
    hosts,
    user = userInfo().username,
    database = user,
  }: Pick<ConnectionTarget, 'hosts' | 'user' | 'database'>,
  passwordOf: ReturnType<typeof readPasswordFile>,
): readonly Host[] {
  return hosts.map((host) => {
    // In a password file the usual sockets are called "localhost".
    const name = DEFAULT_HOSTS.includes(host.host) ? 'localhost' : host.host;
    const password = passwordOf({ host: name, port: host.port, database, user });
    return password === undefined ? host : { ...host, password };
  });
}

function refuseKeyword({ keyword, start }: DsnPair): never {
  const range = { start, end: start + keyword.length };
  if (UNSUPPORTED.has(keyword)) throw new DsnError(`"${keyword}" is not supported yet`, range);
  const near = nearest(keyword, KEYWORDS.keys());
  const hint =
    near === undefined ? 'expected host, port, dbname, user, password …' : `did you mean "${near}"?`;
  throw new DsnError(`unknown keyword "${keyword}"`, range, hint);
}

function hostList({ hostNames, addresses, ports }: HostLists, blame: Range): Host[] {
  const names = hostNames ?? addresses ?? DEFAULT_HOSTS;
  if (ports.length > 1 && ports.length !== names.length) {
    throw new DsnError(`${ports.length} ports for ${names.length} hosts`, blame);
  }
  if (addresses && addresses.length !== names.length) {
    throw new DsnError(`${addresses.length} addresses for ${names.length} hosts`, blame);
  }
  return names.map((name, i) => {
    const address = hostNames && addresses?.[i];
    return {
      host: name || addresses?.[i] || (DEFAULT_HOSTS[0] as string),
      port: Number((ports.length === 1 ? ports[0] : ports[i]) || DEFAULT_PORT),
      ...(address && { address }),
    };
  });
}

/** Reads `hostaddr`: numeric addresses. An empty one means the address of `host`. */
function addressesIn(pair: DsnPair): string[] {
  const addresses = pair.value.split(',');
  if (addresses.every((address) => address === '' || isIP(address) !== 0)) return addresses;
  throw new DsnError('invalid "hostaddr"', pair, 'expected IP addresses');
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

/** The surroundings, and a function that is told why a password file is ignored. */
interface DsnSurroundings extends Surroundings {
  readonly warn: (message: string) => void;
}

/** Returns the surroundings of this process; ignored password files are not reported. */
export function processSurroundings(): DsnSurroundings {
  return { env: process.env, home: homedir(), warn: () => undefined };
}

/**
 * Reads a connection string of libpq, in keywords or as a URI, or returns its first fault. Of the environment only
 * `PGSERVICE`, `PGSERVICEFILE`, `PGSYSCONFDIR` and `PGPASSFILE` count, and a password file only where it is named.
 */
export function readDsn(
  text: string,
  around: DsnSurroundings = processSurroundings(),
): ConnectionTarget | { readonly fault: DsnFault } {
  try {
    const pairs = isUri(text) ? scanUri(text) : scanKeywords(text);
    return connectionTarget(pairs, { start: 0, end: text.length }, around);
  } catch (error) {
    if (error instanceof DsnError) return { fault: error };
    throw error;
  }
}
