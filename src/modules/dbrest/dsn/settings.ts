import { nearest } from '../../../config/index.ts';
import type { ConnectionTarget, DsnPair, Host, SslMode } from './target.ts';
import { DsnError, SSL_MODES } from './target.ts';

type Values = { -readonly [K in keyof ConnectionTarget]?: ConnectionTarget[K] } & {
  hostNames?: string[];
  ports?: string[];
};

const DEFAULT_PORT = 5432;
/** Where distributions and PostgreSQL itself put the socket; then TCP. */
const DEFAULT_HOSTS = ['/var/run/postgresql', '/tmp', 'localhost'];

/** What each supported keyword of libpq sets (PostgreSQL documentation, 34.1.2). */
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
  // Without effect here, and so accepted only where the effect would be the same.
  ['client_encoding', (_, pair) => void oneOf(['utf8', 'UTF8', 'utf-8', 'UTF-8', 'auto'], pair)],
  ['gssencmode', (_, pair) => void oneOf(['disable', 'prefer'], pair)],
  ['target_session_attrs', (_, pair) => void oneOf(['any'], pair)],
]);

/** Known to libpq, not to gw: refused by name instead of ignored. */
const UNSUPPORTED = new Set(
  `channel_binding gsslib gssdelegation hostaddr keepalives_count keepalives_interval krbsrvname load_balance_hosts
  max_protocol_version min_protocol_version passfile replication require_auth requirepeer service servicefile
  ssl_max_protocol_version ssl_min_protocol_version sslcertmode sslcompression sslcrl sslcrldir sslnegotiation
  sslpassword sslsni tcp_user_timeout`.split(/\s+/),
);

/** Pairs to a target with libpq's defaults; the last of two equal keywords counts. Throws a `DsnError`. */
export function connectionTarget(
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

/** libpq: 0 waits for ever, 1 counts as 2. For ever is never right in a gateway: an hour stands in for it. */
function connectTimeoutMs(given: number): number {
  return given === 0 ? 3_600_000 : Math.max(2, given) * 1000;
}

function oneOf(allowed: readonly string[], pair: DsnPair): string {
  if (allowed.includes(pair.value)) return pair.value;
  throw new DsnError(`invalid "${pair.keyword}"`, pair, `expected ${allowed.join(', ')}`);
}
