import { beforeAll, expect, test } from 'vitest';
import { type DnsRecords, type DnsServer, startDnsServer } from '../harness/dns-server.ts';
import { type Owner, startGateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';
import { startPeer } from '../harness/peer.ts';
import { freePort } from '../harness/ports.ts';
import { responseLine } from './response-line.ts';
import { HAS_NGINX, startNginx } from './nginx.ts';

/** Names that are resolved at run time, beside the real nginx: both use the same name server. */
const owner = wholeFile();

const LABEL = 'x'.repeat(63);
const LONG = `${LABEL}.${LABEL}.${LABEL}.test`;

const NAMES = {
  'one.test': { addresses: ['127.0.0.1'] },
  'two.test': { addresses: ['127.0.0.9', '127.0.0.1'] },
  'brief.test': { addresses: ['127.0.0.1'], ttl: 0 },
  'broken.test': { fault: 2 },
  'refused.test': { fault: 5 },
  'silent.test': { fault: 'silent' },
  'empty.test': {},
  'alias.test': { alias: 'one.test' },
  'same.test': { alias: 'one.test', addresses: ['127.0.0.1'] },
  'renamed.old': { others: [{ owner: 'old', type: 'DNAME', data: 'test' }], alias: 'renamed.test' },
  'renamed.test': { addresses: ['127.0.0.1'] },
  'long.test': { alias: LONG },
  [LONG]: { addresses: ['127.0.0.1'] },
  'broken-alias.test': { alias: 'broken.test' },
  'lost.test': { alias: 'nowhere.test' },
  'circle.test': { alias: 'circle2.test' },
  'circle2.test': { alias: 'circle.test' },
  'large.test': { addresses: ['127.0.0.1'], truncated: true },
  ...Object.fromEntries(Array.from({ length: 52 }, (_, n) => [`n${n}.test`, { alias: `n${n + 1}.test` }])),
  'n52.test': { addresses: ['127.0.0.1'] },
  'half.test': { addresses: ['127.0.0.1'], faults: { AAAA: 2 } },
  'other-half.test': { addresses: ['::1'], faults: { A: 2 } },
  'empty6.test': { addresses: ['127.0.0.1'] },
} as const satisfies Readonly<Record<string, DnsRecords>>;

const requests = [
  ['GET /?to=one.test', '200: peer'],
  ['GET /?to=ONE.test', '200: peer'],
  ['GET /?to=one.test.', '200: peer'],
  ['GET /?to=brief.test', '200: peer'],
  ['GET /?to=brief.test', '200: peer'],
  ['GET /?to=two.test', '200: peer'],
  ['GET /?to=two.test', '200: peer'],
  ['GET /?to=two.test', '200: peer'],
  ['GET /?to=two.test', '200: peer'],
  ['POST /?to=two.test << body', '200: peer'],
  ['GET /?to=127.0.0.1', '200: peer'],
  ['GET /?to=127.0.0.9', '502 text/html: <502 Bad Gateway> 152 bytes'],
  ['GET /?to=broken.test', '502 text/html: <502 Bad Gateway> 152 bytes'],
  ['GET /?to=refused.test', '502 text/html: <502 Bad Gateway> 152 bytes'],
  ['GET /?to=empty.test', '502 text/html: <502 Bad Gateway> 152 bytes'],
  ['GET /?to=nowhere.test', '502 text/html: <502 Bad Gateway> 152 bytes'],
  ['GET /silent?to=silent.test', '502 text/html: <502 Bad Gateway> 152 bytes'],
  ['GET /?to=alias.test', '200: peer'],
  ['GET /?to=alias.test', '200: peer'],
  ['GET /?to=same.test', '200: peer'],
  ['GET /?to=renamed.old', '200: peer'],
  ['GET /?to=long.test', '200: peer'],
  ['GET /?to=large.test', '200: peer'],
  ['GET /?to=broken-alias.test', '502 text/html: <502 Bad Gateway> 152 bytes'],
  ['GET /?to=lost.test', '502 text/html: <502 Bad Gateway> 152 bytes'],
  ['GET /?to=circle.test', '502 text/html: <502 Bad Gateway> 152 bytes'],
  ['GET /?to=n2.test', '200: peer'],
  ['GET /both?to=half.test', '502 text/html: <502 Bad Gateway> 152 bytes'],
  ['GET /both?to=other-half.test', '502 text/html: <502 Bad Gateway> 152 bytes'],
  ['GET /both?to=empty6.test', '200: peer'],
  ['GET /both?to=alias.test', '200: peer'],
  // Two name servers in turn: the second one knows no name.
  ['GET /turns?to=one.test', '200: peer'],
  ['GET /turns?to=two.test', '502 text/html: <502 Bad Gateway> 152 bytes'],
  ['GET /turns?to=two.test', '200: peer'],
  ['GET /turns?to=same.test', '502 text/html: <502 Bad Gateway> 152 bytes'],
  ['GET /turns?to=one.test', '200: peer'],
  ['GET /turns?to=same.test', '200: peer'],
  ['GET /none?to=one.test', '502 text/html: <502 Bad Gateway> 152 bytes'],
  ['GET /none?to=127.0.0.1', '200: peer'],
  ['GET /block?to=group', '200: peer'],
  ['GET /block?to=GROUP', '200: peer'],
] as const;

const confOf = ([dns, other]: readonly [DnsServer, DnsServer], peerPort: number): string => `
  upstream group { server 127.0.0.1:${peerPort}; }
  server {
    proxy_http_version 1.1;
    location / {
      resolver 127.0.0.1:${dns.port} ipv6=off;
      proxy_pass http://$arg_to:${peerPort};
    }
    location /silent {
      resolver 127.0.0.1:${dns.port} ipv6=off; resolver_timeout 300ms;
      proxy_pass http://$arg_to:${peerPort};
    }
    location /both {
      resolver 127.0.0.1:${dns.port};
      proxy_pass http://$arg_to:${peerPort};
    }
    location /turns {
      resolver 127.0.0.1:${dns.port} 127.0.0.1:${other.port} ipv6=off;
      proxy_pass http://$arg_to:${peerPort};
    }
    location /none { proxy_pass http://$arg_to:${peerPort}; }
    location /block { proxy_pass http://$arg_to; }
  }`;

const servers: readonly { name: string; start: (t: Owner, http: string) => Promise<number> }[] = [
  ...(HAS_NGINX ? [{ name: 'nginx', start: (t: Owner, http: string) => startNginx(t, http) }] : []),
  {
    name: 'gw',
    start: async (t, http) => {
      const port = await freePort();
      // nginx sends requests wherever clients say.
      await startGateway(t, `proxy_allow_hosts 127.0.0.0/8; ${http}`, { port });
      return port;
    },
  },
];

for (const { name, start } of servers) {
  let port = 0;
  beforeAll(async () => {
    const [dns, other, peer] = await Promise.all([
      startDnsServer(owner, NAMES),
      startDnsServer(owner, {}),
      startPeer(owner, 'peer'),
    ]);
    port = await start(owner, confOf([dns, other], peer.port));
  });

  for (const [index, [request, response]] of requests.entries()) {
    test(`${name} serves request ${index + 1}, ${request}`, async () => {
      expect(await responseLine(port, request)).toBe(response);
    });
  }
}
