import { isIPv4, isIPv6 } from 'node:net';
import { hostname } from 'node:os';
import type { Fix, Word } from '../../../../grammar/index.ts';
import {
  type ArgReader,
  AT,
  defines,
  directivesFor,
  nearest,
  readers,
  readRegex,
  type ReadScope,
  renaming,
} from '../../../config/index.ts';
import type {
  CoreConfig,
  ListenAddress,
  ListenConfig,
  LocationMatch,
  ServerName,
} from '../../../contract/index.ts';
import { methods } from './readers.ts';

const SIZED_BY_KERNEL =
  'the kernel sizes the buffers of sockets; what gw keeps in memory has limits of its own';

/** Parameters that are checked but have no effect, with their allowed values and the reason. */
const WITHOUT_EFFECT: ReadonlyMap<string, { readonly value: RegExp; readonly why: string }> = new Map([
  ['reuseport', { value: /^$/, why: 'every worker has a socket of its own' }],
  ['deferred', { value: /^$/, why: 'a connection without a request costs little, and its time is limited' }],
  ['bind', { value: /^$/, why: 'every address has a socket of its own' }],
  ['multipath', { value: /^$/, why: 'plain TCP takes the same connections' }],
  ['backlog=', { value: /^\d+$/, why: 'the queue has the length that the engine gives it' }],
  ['rcvbuf=', { value: /^\d+[km]?$/i, why: SIZED_BY_KERNEL }],
  ['sndbuf=', { value: /^\d+[km]?$/i, why: SIZED_BY_KERNEL }],
  ['fastopen=', { value: /^\d+$/, why: 'connections are opened by a full handshake' }],
  ['accept_filter=', { value: /^.+$/, why: 'on Linux, nginx has no such filters either' }],
  ['so_keepalive=', { value: /^(on|off|[\d:smh]*)$/i, why: 'idle connections are closed after a time' }],
]);

/** Only `ipv6only=off` has an effect. */
const IPV6_ONLY = /^ipv6only=(on|off)$/i;

const SYNTAX =
  'address[:port[-port]] | port[-port] | unix:path [default_server] [ssl] [http2] [proxy_protocol] [engine=uws|node] [reuseport] [backlog=number] ...';

/** Parameters with an effect. */
const MEANINGS: ReadonlyMap<string, Partial<ListenConfig>> = new Map<string, Partial<ListenConfig>>([
  ['default_server', { defaultServer: true }],
  ['default', { defaultServer: true }],
  ['ssl', { ssl: true }],
  ['proxy_protocol', { proxyProtocol: true }],
  ['engine=uws', { engine: 'uws' }],
  ['engine=node', { engine: 'node' }],
  ['http2', { http2: true }],
  ['quic', { quic: true }],
]);

/** `listen` (nginx ngx_http_core_module#listen). */
const listen: ArgReader<ListenConfig> = readers.words(
  { syntax: SYNTAX, min: 1, max: Infinity },
  (words, scope) => {
    const [target, ...parameters] = words as [Word, ...Word[]];
    const listened = parseListened(target.value);
    if (typeof listened === 'string') {
      scope.report.emerg(`${listened} in "${target.value}" of the "listen" directive`, target.span);
      return undefined;
    }
    if (!parameters.every((word) => checkParameter(word, scope))) return undefined;
    const meanings = parameters.map(({ value }) => MEANINGS.get(value));
    const isDual = parameters.some(({ value }) => value.toLowerCase() === 'ipv6only=off');
    const { address } = listened;
    return Object.assign(
      {
        ...listened,
        ...(isDual && address.kind === 'inet' && { address: { ...address, isDual } }),
        defaultServer: false,
      },
      ...meanings,
    ) as ListenConfig;
  },
);

/** The most common parameters, for corrections. */
const COMMON_PARAMETERS = [
  ...MEANINGS.keys(),
  'reuseport',
  'deferred',
  'bind',
  'ipv6only=on',
  'ipv6only=off',
];

function checkParameter({ value, span }: Word, { report }: ReadScope): boolean {
  const [, key = '', given = ''] = /^([^=]*=?)(.*)$/s.exec(value) ?? [];
  const isIgnored = WITHOUT_EFFECT.get(key.toLowerCase())?.value.test(given) === true;
  if (MEANINGS.has(value) || isIgnored || IPV6_ONLY.test(value)) return true;
  const [, option] = /^(backlog|rcvbuf|sndbuf|setfib|fastopen)=/.exec(value) ?? [];
  if (option === 'setfib') {
    const hint = 'Linux has no such routing tables: choose the routes of the process outside of gw';
    report.emerg(`"${option}" is not supported on this platform`, span, hint);
    return false;
  }
  const message = option === undefined ? `invalid parameter "${value}"` : `invalid ${option} "${value}"`;
  const near = option === undefined ? nearest(value, COMMON_PARAMETERS) : undefined;
  report.emerg(message, span, {
    hint: `syntax: listen ${SYNTAX}`,
    fix: near === undefined ? undefined : renaming(span, near),
  });
  return false;
}

/** Parses an address with a port, or with a range of ports (nginx 1.15.10); a text describes the fault in nginx's words. */
function parseListened(text: string): Pick<ListenConfig, 'address' | 'lastPort'> | string {
  const [, start = text, last] = /^(?!unix:)(.*\d)-(\d+)$/.exec(text) ?? [];
  const address = parseListenAddress(start);
  if (typeof address === 'string') return address;
  if (last === undefined) return { address };
  if (address.kind === 'unix' || !/(?:^|:)\d+$/.test(start) || !isPort(last)) return 'invalid port';
  return Number(last) < address.port ? 'invalid port range' : { address, lastPort: Number(last) };
}

/** Parses an address with one port. */
function parseListenAddress(text: string): ListenAddress | string {
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length);
    return path === '' ? 'no path in the unix domain socket' : { kind: 'unix', path };
  }
  if (/^\d+$/.test(text)) return inet('0.0.0.0', text);
  const bracketed = /^\[([0-9a-f:.]+)\](?::(\d+))?$/i.exec(text);
  if (bracketed) {
    const [, host = '', port = '80'] = bracketed;
    return isIPv6(host) ? inet(host.toLowerCase(), port) : 'invalid IPv6 address';
  }
  const named = /^([^:[\]]+)(?::(.*))?$/.exec(text);
  if (!named) return 'invalid host';
  const [, host = '', port = '80'] = named;
  if (!isPort(port)) return 'invalid port';
  if (host !== '*' && host !== 'localhost' && !isIPv4(host)) return 'host not found';
  const address = host === '*' ? '0.0.0.0' : host === 'localhost' ? '127.0.0.1' : host;
  return inet(address, port);
}

function inet(host: string, portText: string): ListenAddress | string {
  return isPort(portText) ? { kind: 'inet', host, port: Number(portText) } : 'invalid port';
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

/** `server_name` (nginx ngx_http_core_module#server_name): exact, `*.x`, `x.*`, `.x`, `~regex`, `""`. */
const serverNames: ArgReader<readonly ServerName[]> = readers.words(
  { syntax: 'name ...', min: 1, max: Infinity },
  (words, scope) => words.flatMap((word) => readName(word, scope)),
);

function readName(word: Word, scope: ReadScope): ServerName[] {
  const name = word.value.toLowerCase();
  if (name.startsWith('~')) {
    if (name === '~') scope.report.emerg(`empty regex in server name "${word.value}"`, word.span);
    const regex = readRegex(word, { skip: 1, caseless: true }, scope);
    return regex ? [{ kind: 'regex', regex }] : [];
  }
  if (name === '$hostname') return [{ kind: 'exact', name: hostname().toLowerCase() }];
  const bare = name.replace(/^\*?\./, '').replace(/\.\*$/, '');
  if (/[*\s]/.test(bare) || (name !== '' && bare === '') || (name.startsWith('*.') && name.endsWith('.*'))) {
    scope.report.emerg(`server name "${word.value}" is invalid`, word.span);
    return [];
  }
  if (name.includes('/')) {
    scope.report.warn(`server name "${word.value}" has suspicious symbols`, word.span, {
      rule: 'suspicious-server-name',
      fix: withoutUrl(word),
    });
  }
  if (name.startsWith('*.')) return [{ kind: 'leading wildcard', suffix: name.slice(1) }];
  if (name.endsWith('.*')) return [{ kind: 'trailing wildcard', prefix: name.slice(0, -1) }];
  if (name.startsWith('.')) {
    return [
      { kind: 'exact', name: bare },
      { kind: 'leading wildcard', suffix: name, hasBare: true },
    ];
  }
  return [{ kind: 'exact', name }];
}

/** Extracts the host from a URL, such as one copied from an address bar. */
function withoutUrl({ value, span }: Word): Fix | undefined {
  const host = /^(?:https?:\/\/)?([^/:\s]+)(?::\d+)?(?:\/.*)?$/i.exec(value)?.[1];
  return host === undefined
    ? undefined
    : { title: `leave "${host}"`, safe: false, edits: [{ span, text: host }] };
}

const SEPARATE_MODIFIERS: ReadonlySet<string> = new Set(['=', '^~', '~', '~*']);
const MODIFIERS = /^(=|\^~|~\*|~|@)/;

/** Reads the arguments of `location` (nginx ngx_http_core_module#location); also `=/x` in one word. */
const locationMatch: ArgReader<LocationMatch> = readers.words(
  { syntax: '[ = | ~ | ~* | ^~ ] uri | @name', min: 1, max: 2 },
  (words, scope) => {
    const [first, second] = words as [Word, Word?];
    if (second && !SEPARATE_MODIFIERS.has(first.value)) {
      const hint = 'expected =, ~, ~* or ^~';
      scope.report.emerg(`invalid location modifier "${first.value}"`, first.span, hint);
      return undefined;
    }
    if (second) return matchOf(first.value, { word: second, skip: 0 }, scope);
    const modifier = MODIFIERS.exec(first.value)?.[0] ?? '';
    return matchOf(modifier, { word: first, skip: modifier.length }, scope);
  },
);

interface Pattern {
  readonly word: Word;
  readonly skip: number;
}

function matchOf(modifier: string, { word, skip }: Pattern, scope: ReadScope): LocationMatch | undefined {
  const path = word.value.slice(skip);
  switch (modifier) {
    case '^~':
      return { kind: 'prefix', path, stop: true };
    case '=':
      return { kind: 'exact', path };
    case '@':
      return { kind: 'named', name: `@${path}` };
    case '~':
    case '~*': {
      const caseless = modifier === '~*';
      const regex = readRegex(word, { skip, caseless }, scope);
      return regex && { kind: 'regex', regex, caseless };
    }
    default:
      return { kind: 'prefix', path, stop: false };
  }
}

const { flag, present } = readers;
const NO_ARGUMENTS = { ...present, syntax: '' };

/** Directives for blocks and for the selection of a server. */
export const structure = directivesFor<CoreConfig>()({
  events: {
    contexts: ['main'],
    args: NO_ARGUMENTS,
    opens: 'events',
    summary: 'Connection processing; required by nginx, optional here.',
    source: 'nginx ngx_core_module#events',
  },
  http: {
    contexts: ['main'],
    args: NO_ARGUMENTS,
    opens: 'http',
    summary: 'The configuration of HTTP.',
    source: 'nginx ngx_http_core_module#http',
  },
  server: {
    contexts: ['http'],
    args: NO_ARGUMENTS,
    opens: 'server',
    many: true,
    summary: 'A virtual server.',
    source: 'nginx ngx_http_core_module#server',
  },
  location: {
    contexts: ['server', 'location'],
    args: locationMatch,
    opens: 'location',
    many: true,
    summary: 'Configuration for the request URIs that match.',
    roles: defines('named location', AT.location),
    source: 'nginx ngx_http_core_module#location',
  },
  limit_except: {
    contexts: ['location'],
    args: methods,
    opens: 'limit_except',
    summary: 'Replaces the configuration of the location for all methods but these; GET includes HEAD.',
    source: 'nginx ngx_http_core_module#limit_except',
  },
  listen: {
    contexts: ['server'],
    args: listen,
    into: 'listens',
    repeat: 'append',
    inherit: false,
    defaultText: '*:80 as root, else *:8000',
    summary: 'Address and port, or path of a Unix socket, on which the server accepts connections.',
    ignores: Object.fromEntries([...WITHOUT_EFFECT].map(([name, { why }]) => [name, why])),
    source: 'nginx ngx_http_core_module#listen',
  },
  server_name: {
    contexts: ['server'],
    args: serverNames,
    into: 'serverNames',
    repeat: 'append',
    inherit: false,
    defaultText: '""',
    summary: 'Names of the virtual server: exact, wildcard or regular expression.',
    source: 'nginx ngx_http_core_module#server_name',
  },
  merge_slashes: {
    contexts: ['http', 'server'],
    args: flag,
    into: 'mergeSlashes',
    default: true,
    summary: 'Whether adjacent slashes in a URI are merged into one.',
    source: 'nginx ngx_http_core_module#merge_slashes',
  },
});
