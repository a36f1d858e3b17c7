import { type GroupCase, testGroup } from './group-cases.ts';

const OLD = (address: string): string =>
  `GW331 sends HTTP/1.0 to "${address}", which uWebSockets.js refuses with 505`;

/** A server at `listen`, and one of the node engine that forwards to it. */
const chain = (listen: string, target: string, rest = 'proxy_http_version 1.0;'): string =>
  `server { listen ${listen}; return 204; }
   server { listen 127.0.0.1:81 engine=node; ${rest} location / { proxy_pass ${target}; } }`;

const GROUP = 'upstream app { server 127.0.0.1:80; server 127.0.0.1:9000; }';

const cases: readonly GroupCase[] = [
  {
    it: 'HTTP/1.0 to the same address',
    conf: chain('127.0.0.1:80', 'http://127.0.0.1'),
    says: [OLD('127.0.0.1:80')],
  },
  {
    it: 'HTTP/1.0 to a wildcard',
    conf: chain('8080', 'http://127.0.0.1:8080'),
    says: [OLD('0.0.0.0:8080')],
  },
  {
    it: 'HTTP/1.0 to a name of this machine',
    conf: chain('127.0.0.1:80', 'http://localhost'),
    says: [OLD('127.0.0.1:80')],
  },
  {
    it: 'HTTP/1.0 to a member of a group',
    conf: `${GROUP} ${chain('127.0.0.1:80', 'http://app')}`,
    says: [OLD('127.0.0.1:80')],
  },
  { it: 'HTTP/1.1', conf: chain('127.0.0.1:80', 'http://127.0.0.1', ''), says: [] },
  {
    it: 'HTTP/1.0 to the node engine',
    conf: chain('127.0.0.1:80 engine=node', 'http://127.0.0.1'),
    says: [],
  },
  { it: 'HTTP/1.0 to another port', conf: chain('127.0.0.1:80', 'http://127.0.0.1:82'), says: [] },
  { it: 'HTTP/1.0 to another machine', conf: chain('80', 'http://10.0.0.1'), says: [] },
];

testGroup('GW33', cases);
