import { expect, test } from 'vitest';
import { startPeer } from '../harness/peer.ts';
import { wholeFile } from '../harness/owner.ts';
import { directoryWith } from './command.ts';
import { firstAsProgram } from './in-process.ts';

const gw = firstAsProgram();
const file = wholeFile();

/** A response that a gateway could give. */
const up = {
  name: 'main',
  node_id: 'gw-a',
  backend: 'redis.internal:6379',
  state: 'up',
  members_total: 2,
  members: [
    { node_id: 'gw-a', version: '0.1.0', age_ms: 1_240, configuration: '3f2a90b1c4d5', loaded_age_ms: 8_999 },
    { node_id: 'gw-west-12', version: '0.0.9', age_ms: 310, configuration: '', loaded_age_ms: 310 },
  ],
  streams: [
    { stream: 'ev:bus', position: 120_455, lag_ms: 0, gaps: 0 },
    { stream: 'pu', position: 7, lag_ms: 1_204, gaps: 2 },
    ...['di:flags', 'st:web', 'up', 'xx:new'].map((stream) => ({ stream, position: 1, lag_ms: 0, gaps: 0 })),
  ],
  conflicts: [],
  buffer_bytes: 0,
};
const starting = {
  name: 'east',
  node_id: 'gw-e',
  state: 'starting',
  members_total: 0,
  members: [],
  streams: [],
  conflicts: [],
  buffer_bytes: 0,
};

const cases = [
  { it: 'says that there are none', clusters: [], code: 0, stdout: 'no clusters\n' },
  {
    it: 'names nodes and streams',
    clusters: [up],
    code: 0,
    stdout: `\
cluster main: up
this node  gw-a
store      redis.internal:6379
buffer     empty

NODE              VERSION  LAST HEARTBEAT  CONFIGURATION  LOADED
gw-a (this node)  0.1.0    1.2 s ago       3f2a90b1c4d5   8 s ago
gw-west-12        0.0.9    0.3 s ago

STREAM    CARRIES             POSITION  LAG      GAPS
ev:bus    events of bus       120455    0 ms     0
pu        purges              7         1204 ms  2
di:flags  dictionary flags    1         0 ms     0
st:web    sessions of web     1         0 ms     0
up        peers of upstreams  1         0 ms     0
xx:new    xx:new              1         0 ms     0
`,
  },
  {
    it: 'tells of each cluster, why a store is down, and what differs',
    clusters: [
      {
        ...up,
        state: 'down',
        reason: 'connect ECONNREFUSED 10.0.0.7:6379',
        members_total: 1_200,
        streams: [],
        conflicts: [
          { stream: 'ev:bus', node_id: 'gw-west-12' },
          { stream: 'li:perip', node_id: 'gw-b' },
          { stream: 'secret', node_id: 'gw-c' },
        ],
        warnings: ['another live node has the id "gw-a", too'],
        buffer_bytes: 20_480,
      },
      starting,
      { ...up, name: 'large', members: [], members_total: 4_000, streams: [] },
    ],
    code: 1,
    stdout: `\
cluster main: down, connect ECONNREFUSED 10.0.0.7:6379
this node  gw-a
store      redis.internal:6379
buffer     20480 bytes wait for the store
warning    another live node has the id "gw-a", too
conflict   events of bus has other parameters on node gw-west-12
conflict   limit perip has other parameters on node gw-b
conflict   node gw-c has another secret: each ignores what the other sends

NODE              VERSION  LAST HEARTBEAT  CONFIGURATION  LOADED
gw-a (this node)  0.1.0    1.2 s ago       3f2a90b1c4d5   8 s ago
gw-west-12        0.0.9    0.3 s ago
and 1198 more nodes


cluster east: starting
this node  gw-e
store      not asked yet
buffer     empty


cluster large: up
this node  gw-a
store      redis.internal:6379
buffer     empty

4000 nodes
`,
  },
  {
    it: 'shows no control characters of other nodes',
    clusters: [
      {
        ...starting,
        members: [
          {
            node_id: 'a\u001b[2J',
            version: '\n',
            age_ms: 0,
            configuration: '\r',
            loaded_age_ms: 1e9,
          },
        ],
        members_total: 1,
        streams: [{ stream: 'ev:\u0007', position: 0, lag_ms: 0, gaps: 0 }],
      },
    ],
    code: 1,
    stdout: `\
cluster east: starting
this node  gw-e
store      not asked yet
buffer     empty

NODE        VERSION  LAST HEARTBEAT  CONFIGURATION  LOADED
a\\u001b[2J  \\u000a   0.0 s ago       \\u000d         11 d ago

STREAM     CARRIES           POSITION  LAG   GAPS
ev:\\u0007  events of \\u0007  0         0 ms  0
`,
  },
];

let clusters: readonly unknown[] = [];
const gateway = startPeer(file, 'gateway', (_, response) =>
  response.end(JSON.stringify({ status: 'ok', clusters })),
);

for (const { it, clusters: told, code, stdout } of cases) {
  test(`gw cluster status ${it}`, async (t) => {
    clusters = told;
    const { port, requests } = await gateway;
    const args = ['cluster', 'status', '--address', `http://127.0.0.1:${port}`];
    expect(await gw(directoryWith(t, {}), args)).toEqual({ code, stdout, stderr: '' });
    expect(requests.at(-1)).toBe('GET /runtime/cluster');
    const { stdout: json } = await gw(directoryWith(t, {}), [...args, '--json']);
    expect(JSON.parse(json)).toEqual(told);
  });
}
