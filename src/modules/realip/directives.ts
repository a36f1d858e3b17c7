import { directivesFor, parseNetwork, readers } from '../../config/index.ts';
import type { ArgReader } from '../../config/index.ts';
import type { Proxy, RealIpConfig, Source } from './config.ts';

const HSL = ['http', 'server', 'location'] as const;
const HOST = /^[\w-]+(?:\.[\w-]+)*\.?$/;

const proxy: ArgReader<Proxy> = readers.oneWord('address | CIDR | unix: | host', (word, scope) => {
  if (word.value === 'unix:') return 'unix';
  if (parseNetwork(word.value)) return readers.readCidr(word, scope);
  if (HOST.test(word.value)) return { host: word.value };
  scope.report.emerg(
    `host not found in set_real_ip_from "${word.value}"`,
    word.span,
    'expected an address such as 10.0.0.1 or 10.0.0.0/8, unix: or the name of a host',
  );
  return undefined;
});

const source: ArgReader<Source> = readers.oneWord(
  'field | X-Real-IP | X-Forwarded-For | proxy_protocol',
  (word) => (word.value === 'proxy_protocol' ? word.value : { header: word.value.toLowerCase() }),
);

/** nginx's realip module. */
export const directives = directivesFor<RealIpConfig>()({
  set_real_ip_from: {
    contexts: HSL,
    args: proxy,
    into: 'proxies',
    repeat: 'append',
    summary: 'Proxies that are believed what they say of the address of the client.',
    source: 'nginx ngx_http_realip_module#set_real_ip_from',
  },
  real_ip_header: {
    contexts: HSL,
    args: source,
    into: 'source',
    default: { header: 'x-real-ip' },
    defaultText: 'X-Real-IP',
    summary: 'Request header in which trusted proxies tell the address of the client.',
    source: 'nginx ngx_http_realip_module#real_ip_header',
  },
  real_ip_recursive: {
    contexts: HSL,
    args: readers.flag,
    into: 'recursive',
    default: false,
    summary: 'Takes the last address that is not itself a trusted proxy, not just the last one.',
    source: 'nginx ngx_http_realip_module#real_ip_recursive',
  },
});
