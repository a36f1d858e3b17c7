import { type GroupCase, testGroup } from './group-cases.ts';

const ring = (more = ''): string =>
  `worker_events_api; worker_events_zone bus; worker_events_channel c; ${more}`;
const open = (inside: string): string => `server { listen 80; location = /a { ${inside} } }`;
const here = (inside: string): string => `server { listen 127.0.0.1:80; location = /a { ${inside} } }`;
const FLAGS = 'shared_dict_zone zone=feature_flags:64k;';
const PLAIN = 'GW812 "control_api" is used over plain HTTP from other machines';

const cases: readonly GroupCase[] = [
  {
    it: 'any client may publish',
    conf: open(ring()),
    says: ['GW801 "worker_events_api" lets anyone publish'],
  },
  {
    it: 'clients with the key may publish',
    conf: open(ring('worker_events_publish_key ${file:secret};')),
    secret: '0123456789abcdef',
    says: [],
  },
  {
    it: 'a key of 15 bytes is too short',
    conf: open(ring('worker_events_publish_key ${file:secret};')),
    secret: '0123456789abcde',
    says: ['GW803 "worker_events_publish_key" has 15 bytes, but needs at least 16'],
  },
  { it: 'a key of variables is not judged', conf: open(ring('worker_events_publish_key $arg_x;')), says: [] },
  { it: 'only POST is limited', conf: open(ring('limit_except GET { deny all; }')), says: [] },
  {
    it: 'the key in an address without any key configured is something else',
    conf: `${here(ring())} server { listen 127.0.0.1:81; location / { return 302 /a?key=1; } }`,
    says: [],
  },
  {
    it: 'the key in a redirect',
    conf: `${here(ring('worker_events_publish_key $arg_x;'))} server { listen 127.0.0.1:81; location / { return 302 /a?n=1&key=1; } }`,
    says: ['GW802 "return" writes the key for publishing into a URL'],
  },
  {
    it: 'neither zone nor channel',
    conf: here('worker_events_api;'),
    says: [
      'GW804 "worker_events_api" requires "worker_events_zone"',
      'GW804 "worker_events_api" requires "worker_events_channel"',
    ],
  },
  { it: 'a ring of 16', conf: here(ring('worker_events_ring_size 16;')), says: [] },
  {
    it: 'a ring of 15',
    conf: here(ring('worker_events_ring_size 15;')),
    says: ['GW805 a ring of 15 events loses the oldest in any burst'],
  },
  {
    it: 'the console, open',
    conf: open('control_console on;'),
    says: ['GW811 "control_console" can be called by anyone'],
  },
  { it: 'metrics are another rule', conf: open('control_api metrics;'), says: [] },
  {
    it: 'the control surface with a password over plain HTTP',
    conf: FLAGS + open('auth_basic x; auth_basic_user_file u; control_api;'),
    says: [PLAIN],
  },
  {
    it: 'the control surface for a network over plain HTTP',
    conf: FLAGS + open('allow 10.0.0.0/8; deny all; control_api;'),
    says: [PLAIN],
  },
  {
    it: 'the control surface for this machine',
    conf: FLAGS + open('allow 127.0.0.1; allow ::1; deny all; control_api;'),
    says: [],
  },
  {
    it: 'the control surface over TLS',
    conf: FLAGS + open('allow 10.0.0.0/8; deny all; control_api;').replace('80', '443 ssl'),
    says: [],
  },
  { it: 'a probe needs no TLS', conf: open('allow 10.0.0.0/8; deny all; control_api live;'), says: [] },
  {
    it: 'a flag that is used only in another case counts as used',
    conf: `${FLAGS} feature_flag $Shop shop; server { listen 127.0.0.1:80; return 200 $shop; }`,
    says: [],
  },
  {
    it: 'a flag that is only the key of another flag counts as used',
    conf: `${FLAGS} feature_flag $a a; feature_flag $b b key=$a; server { listen 127.0.0.1:80; return 200 $b; }`,
    says: [],
  },
  {
    it: 'the variable of a flag that is not declared',
    conf: here('return 200 $flag_beta;'),
    says: ['GW814 unknown "flag_beta" variable'],
  },
  {
    it: 'a probe without a dictionary',
    conf: here('control_api session_probe;'),
    says: ['GW816 there is no dictionary for "session_probe"'],
  },
  {
    it: 'probes in the log, unless it is off for them',
    conf: `access_log /dev/stdout; ${here('control_api ready;')} ${here('control_api live; access_log off;')}`,
    says: ['GW818 each request for "ready" is logged in the access log'],
  },
];

testGroup('GW8', cases);
