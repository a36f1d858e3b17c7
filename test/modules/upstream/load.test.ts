import { expect, test } from 'vitest';
import { formatFaults } from '../../../grammar/index.ts';
import { load } from '../../../src/pipeline.ts';

const loadText = (text: string) =>
  load({ confFile: '/etc/gw/gw.conf', name: 'gw.conf', prefix: '/etc/gw', text });

const PLAIN = {
  place: 'gw.conf:1',
  weight: 1,
  maxConnections: 0,
  maxFails: 1,
  failTimeoutSeconds: 10,
  backup: false,
  down: false,
  drain: false,
  slowStartMs: 0,
};

test('an upstream keeps its servers in file order, on port 80 by default', () => {
  const { plan } = loadText(
    'http { upstream u { server a.example; server 127.0.0.1:2; server [0:0::1]:3; server unix:/run/x.sock; } }',
  );
  expect(plan?.upstreams[0]?.servers).toEqual([
    { name: 'a.example', target: { kind: 'name', host: 'a.example', port: 80 }, ...PLAIN },
    { name: '127.0.0.1:2', target: { kind: 'address', address: '127.0.0.1:2' }, ...PLAIN },
    { name: '[0:0::1]:3', target: { kind: 'address', address: '[::1]:3' }, ...PLAIN },
    { name: 'unix:/run/x.sock', target: { kind: 'unix', path: '/run/x.sock' }, ...PLAIN },
  ]);
});

test('a server has the values of its parameters', () => {
  const parameters =
    'weight=3 max_conns=7 max_fails=0 fail_timeout=1m30s backup down drain slow_start=30s route=r1';
  const { plan } = loadText(`http { upstream u { server 10.0.0.1; server 10.0.0.2 ${parameters}; } }`);
  expect(plan?.upstreams[0]?.servers[1]).toMatchObject({
    weight: 3,
    maxConnections: 7,
    maxFails: 0,
    failTimeoutSeconds: 90,
    backup: true,
    down: true,
    drain: true,
    slowStartMs: 30_000,
    route: 'r1',
  });
});

test('an upstream finds the resolver of its own block, or else that of the level above', () => {
  const { plan } = loadText(`http {
    resolver 10.0.0.53 [::1]:5353 valid=10s ipv6=off; resolver_timeout 3s;
    upstream a { server a.example resolve; }
    upstream b { server b.example service=http resolve; resolver ns.example; }
  }`);
  expect(plan?.upstreams).toMatchObject([
    {
      resolver: {
        servers: [
          { host: '10.0.0.53', port: 53 },
          { host: '::1', port: 5353 },
        ],
        validMs: 10_000,
        ipv4: true,
        ipv6: false,
      },
      resolverTimeoutMs: 3000,
      servers: [{ resolve: {} }],
    },
    {
      resolver: { servers: [{ host: 'ns.example', port: 53 }], ipv6: true },
      servers: [{ resolve: { service: 'http' } }],
    },
  ]);
});

const faults = [
  ['127.0.0.1:0', 'invalid port in upstream "127.0.0.1:0"'],
  ['127.0.0.1:x', 'invalid port in upstream "127.0.0.1:x"'],
  ['127.0.0.1:', 'invalid port in upstream "127.0.0.1:"'],
  ['127.0.0.1:80-81', 'invalid port in upstream "127.0.0.1:80-81"'],
  ['::1', 'invalid port in upstream "::1"'],
  ['""', 'no host in upstream ""'],
  [':80', 'no host in upstream ":80"'],
  ['[]:80', 'no host in upstream "[]:80"'],
  ['[::1', 'invalid host in upstream "[::1"'],
  ['[::1]x', 'invalid host in upstream "[::1]x"'],
  ['[::1]:', 'invalid port in upstream "[::1]:"'],
  ['[::g]:1', 'invalid IPv6 address in upstream "[::g]:1"'],
  ['a/b', 'invalid host in upstream "a/b"'],
  ['http://a', 'invalid host in upstream "http://a"'],
  ['127.0.0.1:80/x', 'invalid host in upstream "127.0.0.1:80/x"'],
  ['"a?b"', 'invalid host in upstream "a?b"'],
  ['unix:', 'no path in the unix domain socket in upstream "unix:"'],
  [
    `unix:${'a'.repeat(108)}`,
    `too long path in the unix domain socket in upstream "unix:${'a'.repeat(108)}"`,
  ],
  ...[
    'weight=0',
    'weight=x',
    'weight=',
    'max_conns=x',
    'max_fails=-1',
    'fail_timeout=500ms',
    'backup=1',
    'foo',
  ].map((parameter) => [`127.0.0.1 ${parameter}`, `invalid parameter "${parameter}"`] as const),
  ['a.example service=http', 'service upstream "a.example" requires "resolve" parameter'],
  ['a.example:80 service=http resolve', 'service upstream "a.example:80" may not have port'],
  ['127.0.0.1 service=http resolve', 'service upstream "127.0.0.1" requires domain name'],
  ['a.example resolve', 'no resolver defined to resolve names at run time in upstream "u"'],
] as const;

for (const [server, message] of faults) {
  test(`server ${server} is refused in nginx's words`, () => {
    const { report } = loadText(`http { upstream u { server ${server}; } }`);
    const said = formatFaults(report, { program: 'gw', color: false });
    expect(said.split('\n')[0]).toMatch(`gw: [emerg] ${message} in gw.conf:1:`);
  });
}

const blocks = [
  ['server 10.0.0.1 backup;', 'no servers in upstream "u"'],
  [
    'ip_hash; server 10.0.0.1; server 10.0.0.2 backup;',
    'balancing method does not support parameter "backup"',
  ],
  [
    'hash $uri; server 10.0.0.1; server 10.0.0.2 backup;',
    'balancing method does not support parameter "backup"',
  ],
  [
    'random; server 10.0.0.1; server 10.0.0.2 backup;',
    'balancing method does not support parameter "backup"',
  ],
  ['server 10.0.0.1; hash $uri x;', 'invalid parameter "x"'],
  ['server 10.0.0.1; hash $nothing;', 'unknown "nothing" variable'],
  ['server 10.0.0.1; random one;', 'invalid parameter "one"'],
  ['server 10.0.0.1; random two least_time;', 'invalid parameter "least_time"'],
  ['server 10.0.0.1; keepalive -1;', 'invalid value "-1" in "keepalive" directive'],
  ['server 10.0.0.1; keepalive 5; keepalive 6;', '"keepalive" directive is duplicate'],
  ['server 10.0.0.1; zone z 1k;', 'zone "z" is too small'],
  ['server 10.0.0.1; zone z x;', 'invalid zone size "x"'],
  ['server 10.0.0.1; zone "" 64k;', 'invalid zone name ""'],
  ['server 10.0.0.1; resolver valid=3s;', 'no name servers defined'],
  ['server 10.0.0.1; resolver 10.0.0.1 valid=x;', 'invalid parameter: valid=x'],
  ['server 10.0.0.1; resolver 10.0.0.1 ipv6=x;', 'invalid parameter: ipv6=x'],
  ['server 10.0.0.1; resolver 10.0.0.1:0;', 'invalid port in resolver "10.0.0.1:0"'],
  ['server 10.0.0.1; resolver 10.0.0.1 ipv4=off ipv6=off;', '"ipv4" and "ipv6" cannot both be "off"'],
] as const;

for (const [block, message] of blocks) {
  test(`an upstream of "${block}" is refused in nginx's words`, () => {
    const { report } = loadText(`http { upstream u { ${block} } }`);
    expect(report.faults.map((fault) => fault.message)).toEqual([message]);
  });
}

const accepted = [
  'server 10.0.0.1; server 10.0.0.2 backup; ip_hash;',
  'server 10.0.0.1; server 10.0.0.2 backup; least_conn;',
  'least_conn; server 10.0.0.1; server 10.0.0.2 backup;',
  'server 10.0.0.1; random two least_conn; zone z 64k; keepalive 8; keepalive_requests 5; keepalive_time 1m;',
  'server 10.0.0.1 resolve; keepalive 32 local; keepalive_timeout 5s; hash $arg_key consistent;',
] as const;

for (const block of accepted) {
  test(`an upstream of "${block}" loads`, () => {
    const { plan, report } = loadText(`http { upstream u { ${block} } }`);
    expect(report.faults).toEqual([]);
    expect(plan?.upstreams).toHaveLength(1);
  });
}

test('a second balancing method replaces the first, with a warning', () => {
  const { plan, report } = loadText('http { upstream u { server 10.0.0.1; ip_hash; least_conn; } }');
  expect(plan?.upstreams[0]?.balancing).toEqual({ kind: 'least_conn' });
  expect(report.faults).toMatchObject([
    { severity: 'warn', message: 'load balancing method redefined', hint: 'first set at gw.conf:1' },
  ]);
});

test('the case of a name does not tell upstreams apart', () => {
  const { report } = loadText('http { upstream u { server 10.0.0.1; } upstream U { server 10.0.0.2; } }');
  expect(report.faults).toMatchObject([{ message: 'duplicate upstream "U"' }]);
});
