import { expect, test } from 'vitest';
import { load } from '../../../src/pipeline.ts';

const faultsOf = (http: string): readonly string[] =>
  load({
    confFile: '/etc/gw/gw.conf',
    name: 'gw.conf',
    prefix: '/etc/gw',
    text: `http { ${http} }`,
  }).report.faults.map(({ message }) => message);

const inUpstream = (directives: string): string => `upstream u { server 127.0.0.1:1; ${directives} }`;
const inLocation = (directives: string): string => `server { location / { ${directives} } }`;

const cases = [
  { it: 'needs no zone', http: inUpstream('health_check;'), fault: undefined },
  {
    it: 'takes all parameters',
    http: `match m { status 200; } ${inUpstream(
      'health_check interval=1m jitter=1s timeout=2s fails=3 passes=2 uri=/a?b=c port=8080 match=m slow_start=10s mandatory persistent keepalive_time=60s type=http;',
    )}`,
    fault: undefined,
  },
  {
    it: 'refuses gRPC',
    http: inUpstream('health_check type=grpc;'),
    fault: '"type=grpc" is not supported: gw sends no gRPC probes',
  },
  {
    it: 'refuses an unknown parameter',
    http: inUpstream('health_check often;'),
    fault: 'invalid parameter "often"',
  },
  {
    it: 'refuses an interval of 0',
    http: inUpstream('health_check interval=0;'),
    fault: 'invalid parameter "interval=0"',
  },
  {
    it: 'refuses a parameter twice',
    http: inUpstream('health_check fails=1 fails=2;'),
    fault: 'duplicate parameter "fails"',
  },
  {
    it: 'refuses "persistent" alone',
    http: inUpstream('health_check persistent;'),
    fault: '"persistent" requires "mandatory"',
  },
  {
    it: 'refuses an unknown match',
    http: inUpstream('health_check match=m;'),
    fault: 'unknown match "m"',
  },
  {
    it: 'refuses a match twice',
    http: 'match m { status 200; } health_match m { status 200; }',
    fault: 'duplicate match "m"',
  },
  {
    it: 'refuses an unknown condition',
    http: 'match m { code 200; }',
    fault: 'unknown condition "code"',
  },
  { it: 'refuses an invalid status', http: 'match m { status 99; }', fault: 'invalid status "99"' },
  {
    it: 'refuses a variable that a probe does not have',
    http: 'match m { require $remote_addr; }',
    fault: 'variable "$remote_addr" has no value in a probe',
  },
  {
    it: 'refuses more checks than fit',
    http: inUpstream([1, 2, 3, 4, 5].map((nth) => `health_check uri=/${nth};`).join(' ')),
    fault: 'more than 4 health checks of upstream "u"',
  },
  {
    it: 'needs a proxy_pass in a location',
    http: inLocation('health_check; return 200;'),
    fault: '"health_check" requires a "proxy_pass" without variables in the same location',
  },
  {
    it: 'needs a proxy_pass without variables',
    http: inLocation('health_check; proxy_pass http://$host;'),
    fault: '"health_check" requires a "proxy_pass" without variables in the same location',
  },
  {
    it: 'takes a host of its own',
    http: inLocation('health_check; proxy_pass http://127.0.0.1:1;'),
    fault: undefined,
  },
  {
    it: 'refuses a part above 100 %',
    http: inUpstream('health_panic 101%;'),
    fault: '"health_panic" directive invalid value',
  },
  {
    it: 'refuses a probe without a URL',
    http: inLocation('health_probe 127.0.0.1:80; health_readiness;'),
    fault: '"health_probe" directive invalid value',
  },
  {
    it: 'refuses a zone that no location declares',
    http: inLocation('health_status; health_worker_events_zone bus; health_worker_events_channel c;'),
    fault: 'zone "bus" is not declared by any "worker_events_zone"',
  },
  {
    it: 'takes a channel without a zone',
    http: inLocation('health_status; health_worker_events_channel c;'),
    fault: undefined,
  },
  {
    it: 'refuses a long channel',
    http: inLocation(`health_status; health_worker_events_channel ${'c'.repeat(65)};`),
    fault: '"health_worker_events_channel" exceeds 64 bytes, 65 given',
  },
  {
    it: 'refuses a name as the address of a peer',
    http: inUpstream('health_upstream_peer_probe backend http://127.0.0.1:1/;'),
    fault: 'invalid address "backend"',
  },
];

for (const { it, http, fault } of cases) {
  test(`a configuration with checks ${it}`, () => {
    expect(faultsOf(http)).toEqual(fault === undefined ? [] : [fault]);
  });
}
