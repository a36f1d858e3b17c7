import { isIPv4, isIPv6 } from 'node:net';
import type { Word } from '../../../grammar/index.ts';
import { readers } from '../../config/index.ts';
import type { ArgReader, ReadScope } from '../../config/index.ts';
import type { ListenAddress, ListenConfig } from '../../contract/index.ts';

/** Parameters that tune nginx's sockets: checked, then without effect. `ssl` is not among them: it changes the protocol. */
const WITHOUT_EFFECT =
  /^(http2|quic|reuseport|deferred|bind|multipath|backlog=\d+|(rcv|snd)buf=\d+[km]?|setfib=\d+|fastopen=\d+|ipv6only=(on|off)|accept_filter=.+|so_keepalive=(on|off|[\d:smh]*))$/i;

const SYNTAX = 'address[:port] | port | unix:path [default_server] [reuseport] [backlog=number] ...';

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
    const defaultServer = parameters.some(({ value }) => value === 'default_server' || value === 'default');
    return parameters.every((word) => checkParameter(word, scope)) ? { address, defaultServer } : undefined;
  },
);

function checkParameter({ value, span }: Word, { report }: ReadScope): boolean {
  if (value === 'default_server' || value === 'default' || WITHOUT_EFFECT.test(value)) return true;
  const later = value === 'ssl' || value === 'proxy_protocol';
  if (later) report.emerg(`the "${value}" parameter of the "listen" directive is not supported`, span);
  else report.emerg(`invalid parameter "${value}"`, span, `syntax: listen ${SYNTAX}`);
  return false;
}

/** The address, or what is wrong with it in nginx's words. */
export function parseListenAddress(text: string): ListenAddress | string {
  if (text.startsWith('unix:')) return text.length > 5 ? { kind: 'unix', path: text.slice(5) } : 'no path';
  if (/^\d+$/.test(text)) return inet('0.0.0.0', text);
  const bracketed = /^\[([0-9a-f:.]+)\](?::(\d+))?$/i.exec(text);
  if (bracketed) {
    const [, host = '', port = '80'] = bracketed;
    return isIPv6(host) ? inet(host.toLowerCase(), port) : 'invalid IPv6 address';
  }
  const named = /^([^:[\]]+)(?::(.*))?$/.exec(text);
  if (!named) return 'invalid address';
  const host = named[1] as string;
  if (host !== '*' && host !== 'localhost' && !isIPv4(host)) return 'host not found';
  const address = host === '*' ? '0.0.0.0' : host === 'localhost' ? '127.0.0.1' : host;
  return inet(address, named[2] ?? '80');
}

function inet(host: string, portText: string): ListenAddress | string {
  const port = Number(portText);
  if (!/^\d{1,5}$/.test(portText) || port < 1 || port > 65_535) return 'invalid port';
  return { kind: 'inet', host, port };
}
