import type { ClusterConfig, ModuleRule, Problem } from '../../contract/index.ts';
import { poolerAt } from '../../postgres/index.ts';

type ClusterRule = ModuleRule<ClusterConfig>;

const FILES = { 'cluster.key': 'tR7uWx2LqPz9Vb4N' };

/** An example: a cluster, with a comment above. */
const example = (comment = '', more = ''): string =>
  `${comment === '' ? '' : `# ${comment}\n`}cluster main { backend redis://127.0.0.1:6379; secret \${file:cluster.key};${more} }`;

const clusterTwice: ClusterRule = {
  id: 'GW959',
  slug: 'cluster-twice',
  severity: 'warning',
  summary: 'two clusters with the same store and namespace',
  why: 'They form one cluster in which each gateway is two nodes. Both use the same keys, zones of the same name are mixed, and each difference between the two is a conflict.',
  fix: 'Remove one of them, or give each a namespace of its own.',
  bad: { in: 'http', text: `${example()}\n${example().replace('main', 'other')}`, files: FILES },
  good: {
    in: 'http',
    text: `${example()}\n${example('', ' namespace other;').replace('main', 'other')}`,
    files: FILES,
  },
  *check(config): Iterable<Problem> {
    const known = new Map<string, string>();
    for (const block of config.blocks('cluster')) {
      const [at] = config.nodesIn(block, 'backend');
      const name = typeof block.args === 'string' ? block.args : '';
      const key = JSON.stringify([at?.args[0]?.value, config.configIn(block).namespace]);
      const other = known.get(key);
      known.set(key, name);
      if (!at || other === undefined) continue;
      const hint = 'give one of them another "namespace"';
      yield { at, message: `cluster "${other}" has the same store and namespace`, hint };
    }
  },
};

const storeUnreachable: ClusterRule = {
  id: 'GW960',
  slug: 'cluster-store-unreachable',
  severity: 'error',
  live: true,
  summary: 'the store of a cluster cannot be used',
  why: 'The gateway runs alone: it shares no events, purges or rates.',
  fix: 'Check that the store runs, that the address is right, and that the user has the rights that the guide lists.',
  bad: { in: 'http', text: example('nothing listens there'), files: FILES },
  good: { in: 'http', text: example('Redis listens there'), files: FILES },
};

const storeEvicts: ClusterRule = {
  id: 'GW961',
  slug: 'cluster-store-evicts',
  severity: 'error',
  live: true,
  summary: 'a store that removes keys when its memory is full',
  why: 'If a stream is removed, events and purges that other gateways have not read are lost without notice.',
  fix: 'Set "maxmemory-policy noeviction" in the configuration of the store.',
  bad: { in: 'http', text: example('its redis.conf says: maxmemory-policy allkeys-lru'), files: FILES },
  good: { in: 'http', text: example('its redis.conf says: maxmemory-policy noeviction'), files: FILES },
};

const parametersDiffer: ClusterRule = {
  id: 'GW962',
  slug: 'cluster-parameters-differ',
  severity: 'warning',
  live: true,
  summary: 'gateways with different parameters for something that they share',
  why: 'A smaller ring keeps fewer events, and a limit with another rate counts differently: responses depend on the gateway that a client reaches.',
  fix: 'Give all gateways the same configuration, and reload them one after the other.',
  bad: { in: 'http', text: example('another gateway has another worker_events_ring_size'), files: FILES },
  good: { in: 'http', text: example('all gateways have the same configuration'), files: FILES },
};

const tooLarge: ClusterRule = {
  id: 'GW963',
  slug: 'cluster-too-large',
  severity: 'warning',
  live: true,
  summary: 'more gateways than the store was tested with',
  why: 'Each gateway has its own connections to the store and reads each entry. In PostgreSQL, each needs a process of the server, and each notification takes a lock of the whole server: at most 50 gateways were tested. Redis was tested with 1,000.',
  fix: 'Move from PostgreSQL to Redis, or split the gateways into several clusters.',
  bad: { in: 'http', text: example('more than 1,000 gateways use it'), files: FILES },
  good: { in: 'http', text: example('a few gateways use it'), files: FILES },
};

/** An example: a cluster with PostgreSQL as its store. */
const storedAt = (host: string): string =>
  `cluster main { backend postgresql://gw@${host}/app?sslmode=verify-full; secret \${file:cluster.key}; }`;
const NEON = 'ep-blue-sea-a1b2c3d4-pooler.eu-central-1.aws.neon.tech';

const storePooler: ClusterRule = {
  id: 'GW965',
  slug: 'cluster-store-pooler',
  severity: 'error',
  summary: 'a pooler in front of the store of a cluster',
  why: 'Nodes notify each other of new entries, but a pooler gives its sessions to one client after another, so notifications are lost. Such a store is refused, and each gateway runs alone. If only the port suggests a pooler, the finding is an info.',
  fix: 'Set "backend" to the address of the server itself.',
  bad: { in: 'http', text: storedAt(NEON), files: FILES },
  good: { in: 'http', text: storedAt('db.example.com'), files: FILES },
  *check(config): Iterable<Problem> {
    for (const block of config.blocks('cluster')) {
      const { backend } = config.configIn(block);
      const pooler = backend?.kind === 'postgres' ? poolerAt(backend.target) : undefined;
      const [at] = config.nodesIn(block, 'backend');
      if (!pooler || !at) continue;
      const hint = 'connect to the server itself';
      if (pooler.certainty === 'name')
        yield { at, message: `${pooler.name} cannot be used for the store of a cluster`, hint };
      else {
        const message = `${pooler.name} is usually the port of a pooler, which cannot be used for the store of a cluster`;
        yield { at, severity: 'info', message, hint };
      }
    }
  },
};

/** The rules about clusters. */
export const rules: readonly ClusterRule[] = [
  clusterTwice,
  storePooler,
  storeUnreachable,
  storeEvicts,
  parametersDiffer,
  tooLarge,
];
