import { createHash, createHmac } from 'node:crypto';
import type { ErrorLog } from '../log/index.ts';
import type { UpstreamGroup, Upstreams } from '../upstream/index.ts';
import { type Counters, zoneIdentity } from '../zone/index.ts';
import { showCluster } from './node/index.ts';
import { type ClusterTurn, OpenCluster } from './open-cluster.ts';
import { type ClusterPlan, clusterZone } from './plan.ts';

/** Characters of the digest of a configuration in the status. */
const DIGEST_LENGTH = 12;

/** The clusters of a configuration by name. */
export type Clusters = ReadonlyMap<string, OpenCluster>;

/** The parts of a worker that clusters use; all of them outlive the configuration. */
interface ClusterScope {
  readonly workerId: number;
  readonly log: ErrorLog;
  readonly metrics: Counters;
  share<T>(key: string, open: () => T, close: (resource: T) => void | Promise<void>): T;
  zone(name: string): SharedArrayBuffer;
  own<T>(resource: T, close: (resource: T) => void | Promise<void>): T;
  readonly upstreams: Pick<Upstreams, 'groups'>;
  addCheck(name: string, check: () => Promise<string | undefined>): void;
}

/** The configuration that the clusters are opened for. */
interface ForConfiguration {
  /** The version of gw. */
  readonly version: string;
  /** Identifies the text of the configuration. */
  readonly digest: string;
}

/** Opens the clusters, or keeps those of the former configuration that have the same settings. */
export function openClusters(
  plans: readonly ClusterPlan[],
  scope: ClusterScope,
  { version, digest }: ForConfiguration,
): Clusters {
  const { workerId, log, metrics } = scope;
  const opened = plans.map((plan) => {
    const memory = scope.zone(clusterZone(plan).name);
    const key = `cluster ${digestOf(plan)}`;
    const turn = scope.share(
      `cluster turn ${zoneIdentity(memory)}`,
      (): ClusterTurn => ({}),
      () => undefined,
    );
    const cluster = scope.share(
      key,
      () => new OpenCluster({ key, plan, memory, workerId, version, log, metrics, turn }),
      (one) => one.close(),
    );
    scope.own(cluster.serves(shownDigest(digest, plan)), (end) => end());
    scope.addCheck(`cluster:${plan.name}`, () => Promise.resolve(cluster.fault));
    scope.own(showCluster(metrics, plan.name, cluster), (end) => end());
    return [plan.name, cluster] as const;
  });
  const [first] = opened;
  if (first) for (const group of scope.upstreams.groups) shareSessions(group, first[1], scope);
  return new Map(opened);
}

/** Keyed with the secret: without it, nobody can test whether a digest is that of a certain configuration. */
function shownDigest(digest: string, { secret }: ClusterPlan): string {
  return createHmac('sha256', secret).update(digest).digest('hex').slice(0, DIGEST_LENGTH);
}

/** Shares the sessions of `sticky learn … sync` through the cluster, of which there is only one then. */
function shareSessions(group: UpstreamGroup, cluster: OpenCluster, scope: Pick<ClusterScope, 'own'>): void {
  const { sticky, sessions } = group;
  if (sticky?.kind !== 'learn' || !sticky.isShared || !sessions) return;
  const { zone, create, lookup, timeoutMs } = sticky;
  const digest = createHash('sha256')
    .update(JSON.stringify([create, lookup, timeoutMs]))
    .digest('base64url');
  const peerAt = (address: string): ReturnType<UpstreamGroup['peerAt']> => group.peerAt(address);
  scope.own(cluster.sessions.share(zone, digest, { sessions, peerAt }), (end) => end());
}

/** Hashed: keys of resources may be logged, secrets must not be. */
function digestOf(plan: ClusterPlan): string {
  return createHash('sha256').update(JSON.stringify(plan)).digest('base64url');
}
