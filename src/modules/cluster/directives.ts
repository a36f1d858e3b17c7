import { resolve } from 'node:path';
import type { Word } from '../../../grammar/index.ts';
import { type Backend, NODE_ID, parseBackend, type SharedLimits } from '../../cluster/index.ts';
import {
  type ArgReader,
  defines,
  directivesFor,
  pathFrom,
  privateFile,
  readers,
} from '../../config/index.ts';
import type { ClusterConfig, FileName } from '../../contract/index.ts';
import { AddressFault, type Login } from '../../redis/index.ts';

const CLUSTER = { contexts: ['cluster'], inherit: false, source: 'gw' } as const;

const EXPECTED =
  'expected redis://user:password@host:port, rediss://…, unix:/path, sentinel://host,host/name, redis+cluster://host,host or postgres://…';

/** The address of the store. */
const backend: ArgReader<Backend> = readers.oneWord('address', (word, { report }) => {
  const address = parseBackend(word.value);
  if (!(address instanceof AddressFault)) return address;
  report.emerg(`"backend" ${address.predicate}`, word.span, EXPECTED);
  return undefined;
});

/** `[user] password` */
const login: ArgReader<Login> = readers.words({ syntax: '[user] password', min: 1, max: 2 }, (words) => {
  const [password = '', username] = words.map(({ value }) => value).reverse();
  return { password, ...(username !== undefined && { username }) };
});

/** Reads a name that becomes a part of keys in the store. */
function nameOf(syntax: string): ArgReader<string> {
  return readers.oneWord(syntax, (word: Word, { directive, report }) => {
    if (NODE_ID.test(word.value)) return word.value;
    report.emerg(
      `invalid name "${word.value}" in "${directive}" directive`,
      word.span,
      'expected 1 to 64 letters, digits, "_", "-" and "."',
    );
    return undefined;
  });
}

const SHORTEST_SECRET = 16;

/** A secret that cannot be guessed. */
const secret: ArgReader<string> = readers.oneWord('secret', (word, { report }) => {
  if (word.value.length < SHORTEST_SECRET) {
    const hint = `who can read the store can guess it: use at least ${SHORTEST_SECRET} characters`;
    report.warn('the secret of the cluster is short', word.span, hint);
  }
  return word.value;
});

/** Reads a time of at least `leastMs`. */
function timeFrom(leastMs: number): ArgReader<number> {
  return readers.oneWord('time', (word, scope) => {
    const ms = readers.time.read([word], scope);
    if (ms === undefined || ms >= leastMs) return ms;
    scope.report.emerg(`"${scope.directive}" must be at least ${leastMs}ms`, word.span);
    return undefined;
  });
}

const FALLBACKS = ['local', 'share', 'open', 'closed'] as const;
/** Longest lease and wait: other nodes cannot use a lease, and requests wait for the store. */
const LONGEST_LIMIT_MS = 10_000;
const EXPECTED_OF: Readonly<Record<string, string>> = {
  lease: 'a time from 1ms to 10s',
  wait: 'a time from 1ms to 10s',
  fallback: FALLBACKS.join(', '),
};
const LIMITS: SharedLimits = { leaseMs: 200, waitMs: 50, fallback: 'local' };

/** `lease=200ms wait=50ms fallback=local` */
const limits: ArgReader<SharedLimits> = readers.words(
  { syntax: `[lease=time] [wait=time] [fallback=${FALLBACKS.join(' | ')}]`, min: 1, max: 3 },
  (words, { report }) => {
    let read = LIMITS;
    for (const { value, span } of words) {
      const [, name, text = ''] = /^(lease|wait|fallback)=(.*)$/s.exec(value) ?? [];
      const ms = readers.parseTimeMs(text) ?? 0;
      const fallback = FALLBACKS.find((one) => one === text);
      const isTime = ms > 0 && ms <= LONGEST_LIMIT_MS;
      if (name === 'lease' && isTime) read = { ...read, leaseMs: ms };
      else if (name === 'wait' && isTime) read = { ...read, waitMs: ms };
      else if (name === 'fallback' && fallback) read = { ...read, fallback };
      else {
        const expected = name === undefined ? 'lease=, wait= or fallback=' : EXPECTED_OF[name];
        report.emerg(`invalid parameter "${value}"`, span, `expected ${expected}`);
        return undefined;
      }
    }
    return read;
  },
);

const file: ArgReader<FileName> = readers.oneWord('file', ({ value }, { confDir }) => ({
  text: value,
  path: resolve(confDir, value),
}));

/** The directives of the module. */
export const directives = directivesFor<ClusterConfig>()({
  cluster: {
    contexts: ['http'],
    args: readers.text,
    opens: 'cluster',
    many: true,
    summary:
      'A group of gateways that share events and rate limits through one store; zones name it with "cluster=".',
    roles: defines('cluster'),
    source: 'gw',
  },
  backend: {
    ...CLUSTER,
    args: backend,
    into: 'backend',
    secret: 'password',
    summary:
      'The store that the gateways of the cluster share: Redis 6 or later, or Valkey; one server, the master that Sentinels know, or a Redis Cluster. Or PostgreSQL, as `gw db setup --cluster` prepares it, where there are few gateways and no shared limits.',
  },
  sentinel_login: {
    ...CLUSTER,
    args: login,
    into: 'sentinelLogin',
    secret: 'whole',
    defaultText: 'none',
    summary: 'The login at the Sentinels of the address; the one in the address is for the servers.',
  },
  ssl_trusted_certificate: {
    ...CLUSTER,
    args: file,
    into: 'sslTrustedCertificate',
    defaultText: 'the authorities that Node.js knows',
    summary: "PEM file with the CA certificates that the store's certificate is verified with.",
    roles: pathFrom('confDir'),
  },
  ssl_certificate: {
    ...CLUSTER,
    args: file,
    into: 'sslCertificate',
    summary: 'PEM file with the certificate that the gateway shows the store.',
    roles: pathFrom('confDir'),
  },
  ssl_certificate_key: {
    ...CLUSTER,
    args: file,
    into: 'sslCertificateKey',
    summary: 'PEM file with the key of that certificate.',
    roles: privateFile('secrets'),
  },
  ssl_name: {
    ...CLUSTER,
    args: readers.text,
    into: 'sslName',
    defaultText: 'the host of the address',
    summary: "The name that the store's certificate must have, and that is sent in the handshake.",
  },
  ssl_verify: {
    ...CLUSTER,
    args: readers.flag,
    into: 'sslVerify',
    default: true,
    defaultText: 'on',
    summary: "Whether the store's certificate is verified.",
  },
  node_id: {
    ...CLUSTER,
    args: nameOf('name'),
    into: 'nodeId',
    defaultText: "the host's name and a random part, kept in state_path",
    summary: 'The name of this gateway, which no other one of the cluster may have.',
  },
  namespace: {
    ...CLUSTER,
    args: nameOf('name'),
    into: 'namespace',
    default: 'gw',
    summary: 'Tells the clusters of one store apart; a part of the names of all keys.',
  },
  secret: {
    ...CLUSTER,
    args: secret,
    into: 'secret',
    secret: 'whole',
    summary:
      'The key by which the gateways of the cluster know entries of each other; at least 16 characters are advised. What others write into the store is dropped.',
  },
  retain: {
    ...CLUSTER,
    args: readers.integer({ min: 100, max: 10_000_000 }),
    into: 'retain',
    default: 100_000,
    summary:
      'About how many entries of a stream the store keeps: a gateway that was away for longer has a gap.',
  },
  buffer: {
    ...CLUSTER,
    args: readers.size,
    into: 'bufferBytes',
    default: 8 * 1024 * 1024,
    defaultText: '8m',
    summary:
      'Maximum memory for entries that wait for the store; beyond it the oldest are dropped, which is logged.',
  },
  batch: {
    ...CLUSTER,
    args: readers.time,
    into: 'batchMs',
    default: 50,
    defaultText: '50ms',
    summary:
      'Pause after a read that gave entries: it bounds the reads of a busy cluster, and adds to the delay.',
  },
  heartbeat: {
    ...CLUSTER,
    args: timeFrom(100),
    into: 'heartbeatMs',
    default: 5_000,
    defaultText: '5s',
    summary: 'How often the gateway shows that it is alive; after three missed ones it counts as gone.',
  },
  timeout: {
    ...CLUSTER,
    args: timeFrom(10),
    into: 'timeoutMs',
    default: 500,
    defaultText: '500ms',
    summary: 'How long the store may take to respond.',
  },
  limits: {
    ...CLUSTER,
    args: limits,
    into: 'limits',
    default: LIMITS,
    defaultText: 'lease=200ms wait=50ms fallback=local',
    summary:
      'How request limits are shared: for how long a gateway takes at once what it needs, how long a request waits for the store, and what decides then: the limit of this gateway, the same divided by the live gateways, nothing ("open"), or a refusal ("closed").',
  },
  state_path: {
    ...CLUSTER,
    args: readers.text,
    into: 'statePath',
    defaultText: 'cluster/name',
    summary: 'The directory for what the gateway keeps between two starts, such as its name.',
    roles: pathFrom('prefix'),
  },
  cluster_required: {
    contexts: ['http'],
    args: readers.flag,
    into: 'required',
    default: false,
    defaultText: 'off',
    summary: 'Whether the gateway is not ready while it cannot reach the stores of its clusters.',
    source: 'gw',
  },
});
