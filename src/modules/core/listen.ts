import { isIPv4, isIPv6 } from 'node:net';
import type { Word } from '../../../grammar/index.ts';
import { nearest, readers, renaming } from '../../config/index.ts';
import type { ArgReader, ReadScope } from '../../config/index.ts';
import type { ListenAddress, ListenConfig } from '../../contract/index.ts';

/** Parameters that tune nginx's sockets, or offer a protocol that gw does not speak: checked, then without effect. */
const WITHOUT_EFFECT =
  /^(http2|reuseport|deferred|bind|multipath|backlog=\d+|(rcv|snd)buf=\d+[km]?|setfib=\d+|fastopen=\d+|ipv6only=(on|off)|accept_filter=.+|so_keepalive=(on|off|[\d:smh]*))$/i;

const SYNTAX =
  'address[:port] | port | unix:path [default_server] [ssl] [proxy_protocol] [engine=uws|node] [reuseport] [backlog=number] ...';

/** What a parameter that is not there for nginx's sockets alone says. */
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
export const listen: ArgReader<ListenConfig> = readers.words(
  { syntax: SYNTAX, min: 1, max: Infinity },
  (words, scope) => {
    const [target, ...parameters] = words as [Word, ...Word[]];
    const address = parseListenAddress(target.value);
    if (typeof address === 'string') {
      scope.report.emerg(`${address} in "${target.value}" of the "listen" directive`, target.span);
      return undefined;
    }
    if (!parameters.every((word) => checkParameter(word, scope))) return undefined;
    const meanings = parameters.map(({ value }) => MEANINGS.get(value));
    return Object.assign({ address, defaultServer: false }, ...meanings) as ListenConfig;
  },
);

/** What people write most, for corrections. */
const COMMON_PARAMETERS = [
  ...MEANINGS.keys(),
  'reuseport',
  'deferred',
  'bind',
  'ipv6only=on',
  'ipv6only=off',
];

function checkParameter({ value, span }: Word, { report }: ReadScope): boolean {
  if (MEANINGS.has(value) || WITHOUT_EFFECT.test(value)) return true;
  const [, option] = /^(backlog|rcvbuf|sndbuf|setfib|fastopen)=/.exec(value) ?? [];
  const message = option === undefined ? `invalid parameter "${value}"` : `invalid ${option} "${value}"`;
  const near = option === undefined ? nearest(value, COMMON_PARAMETERS) : undefined;
  report.emerg(message, span, {
    hint: `syntax: listen ${SYNTAX}`,
    fix: near === undefined ? undefined : renaming(span, near),
  });
  return false;
}

/** The address, or what is wrong with it in nginx's words. */
export function parseListenAddress(text: string): ListenAddress | string {
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
