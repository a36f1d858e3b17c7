import { resolve as resolvePath } from 'node:path';
import type { Report } from '../../grammar/index.ts';
import { type ClusterPlan, clusterZone, NODE_ID, usesTls, withAccess } from '../cluster/index.ts';
import { type BoundBlock, firstAt, type Registry, resolve, type ResolvedConfigs } from '../config/index.ts';
import { configOf } from '../contract/index.ts';
import { clusterSpan, clusterTlsSpan, planClusterTls } from './cluster-tls.ts';
import type { LocationPlanner } from './locations.ts';

interface ClusterPlanning {
  readonly registry: Registry;
  readonly report: Report;
  readonly locations: Pick<LocationPlanner, 'zones' | 'written'>;
  readonly prefix: string;
}

/** Collects the `cluster` blocks. */
export class ClusterCollector {
  readonly plans: ClusterPlan[] = [];
  readonly #planning: ClusterPlanning;
  readonly #blocks = new Map<string, BoundBlock>();

  constructor(planning: ClusterPlanning) {
    this.#planning = planning;
  }

  has(name: string): boolean {
    return this.#blocks.has(name);
  }

  get count(): number {
    return this.#blocks.size;
  }

  /** Adds a `cluster` block. */
  add(block: BoundBlock, http: ResolvedConfigs): void {
    const { registry, report, locations, prefix } = this.#planning;
    const span = block.node?.name.span;
    const name = typeof block.args === 'string' ? block.args : '';
    if (!NODE_ID.test(name)) {
      const hint = 'expected 1 to 64 letters, digits, "_", "-" and "."';
      return report.emerg(`invalid cluster name "${name}"`, span, hint);
    }
    const other = this.#blocks.get(name);
    if (other)
      return report.emerg(`duplicate cluster "${name}"`, span, firstAt(other.node?.name.span, 'declared'));
    this.#blocks.set(name, block);
    const level = resolve(registry, block, http);
    for (const needed of ['backend', 'secret']) {
      if (!block.node?.block?.some((node) => node.name.value === needed))
        report.emerg(`no "${needed}" is defined for the "cluster" block`, span);
    }
    const backend = this.#backend(level);
    const { secret, statePath, nodeId, ...config } = configOf(level, 'cluster');
    if (!backend || secret === undefined) return;
    const path = resolvePath(prefix, statePath ?? `cluster/${name}`);
    const plan = { ...config, name, backend, secret, nodeId, statePath: path };
    this.plans.push({ ...plan, required: configOf(http, 'cluster').required });
    locations.zones.add(clusterZone(plan), span);
    locations.written.add({ directories: [path] });
  }

  /** Returns the address of the store and the TLS settings for it. */
  #backend(level: ResolvedConfigs): ClusterPlan['backend'] | undefined {
    const { report } = this.#planning;
    const { backend, sentinelLogin } = configOf(level, 'cluster');
    const tls = planClusterTls(level, report);
    if (!backend || !tls) return undefined;
    const tlsSpan = clusterTlsSpan(level);
    if (tlsSpan && backend.kind === 'postgres') {
      const hint = 'there: sslmode=verify-full sslrootcert=file';
      report.warn('the connection string says how TLS is spoken to PostgreSQL', tlsSpan, hint);
    } else if (tlsSpan && !usesTls(backend))
      report.warn('the store is not reached over TLS', tlsSpan, 'an address with "rediss://" asks for it');
    if (sentinelLogin && backend.kind !== 'sentinel') {
      const span = clusterSpan(level, 'sentinelLogin');
      report.warn('"sentinel_login" has no effect: the address names no Sentinels', span);
    }
    return withAccess(backend, { tls, sentinelLogin });
  }
}
