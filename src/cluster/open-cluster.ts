import type { ErrorLog } from '../log/index.ts';
import { redisLabel } from '../redis/index.ts';
import { type Counters, type Ring, type Seat, SharedText, zoneIdentity } from '../zone/index.ts';
import { ClusterNode } from './cluster-node.ts';
import { clusterMetrics } from './metrics.ts';
import { keptNodeId } from './node-id.ts';
import type { ClusterPlan } from './plan.ts';
import { RedisStore } from './redis-store.ts';
import { RingSubject } from './ring-subject.ts';
import type { ClusterRecord, ClusterStatus } from './status.ts';

/** How long the worker that runs the node may be silent before another one takes its place. */
const SILENCE_MS = 3_000;
const LOOK_MS = 250;
/** So long a gateway that starts is not ready, until its streams have been read. */
const LONGEST_START_MS = 5_000;

interface OpenClusterParts {
  /** Identifies the settings. */
  readonly key: string;
  readonly plan: ClusterPlan;
  readonly memory: SharedArrayBuffer;
  readonly workerId: number;
  readonly version: string;
  readonly log: ErrorLog;
  readonly metrics: Counters;
}

interface SharedRing {
  readonly zone: string;
  readonly ring: Ring;
  readonly identity: string;
}

/** A cluster as one worker sees it. One worker of the process runs the node for all of them. */
export class OpenCluster {
  readonly #parts: OpenClusterParts;
  readonly #text: SharedText;
  readonly #seat: Seat;
  readonly #looking: NodeJS.Timeout;
  readonly #rings = new Map<SharedRing, (() => void) | undefined>();
  readonly #openedMs = performance.now();
  #node: ClusterNode | undefined;
  #origins: string[] = [];
  #nodeId: string | undefined;
  #record: { readonly revision: number; readonly record: ClusterRecord } | undefined;

  constructor(parts: OpenClusterParts) {
    this.#parts = parts;
    this.#text = new SharedText(parts.memory, parts.workerId);
    this.#seat = this.#text.seat(0);
    this.#looking = setInterval(() => this.#look(), LOOK_MS).unref();
    this.#look();
  }

  /** The name of this node. Empty for a moment at the start, if the configuration gives none. */
  get nodeId(): string {
    this.#nodeId ??= this.#parts.plan.nodeId ?? this.record?.status.node_id;
    return this.#nodeId ?? '';
  }

  /** Identifies the cluster and its settings. */
  get key(): string {
    return this.#parts.key;
  }

  get plan(): ClusterPlan {
    return this.#parts.plan;
  }

  /** What the worker that runs the node has told last; `undefined` before it has. */
  get record(): ClusterRecord | undefined {
    const { revision } = this.#text;
    if (this.#record?.revision === revision) return this.#record.record;
    const read = revision === 0 ? undefined : this.#text.read();
    if (!read || read.text === '') return undefined;
    this.#record = { revision: read.revision, record: JSON.parse(read.text) as ClusterRecord };
    return this.#record.record;
  }

  get status(): ClusterStatus | undefined {
    return this.#node?.status ?? this.record?.status;
  }

  /** Returns the name of the node that has published an entry of a ring. */
  originName(origin: number): string {
    if (origin === 0) return this.nodeId;
    return this.record?.origins[origin - 1] ?? '';
  }

  /** Why the gateway is not ready, if it is not: it waits for the streams for a while, and for the store if that is required. */
  get fault(): string | undefined {
    const { state = 'starting' } = this.status ?? {};
    if (state === 'up') return undefined;
    if (this.#parts.plan.required) return 'the store cannot be reached';
    const isWaiting = state === 'starting' && performance.now() - this.#openedMs < LONGEST_START_MS;
    return isWaiting ? 'the streams are being read' : undefined;
  }

  /** Shares the events of a ring. Returns the function that ends it. */
  shareRing(zone: string, ring: Ring, memory: SharedArrayBuffer): () => void {
    const shared = { zone, ring, identity: zoneIdentity(memory) };
    this.#rings.set(shared, this.#node && this.#join(this.#node, shared));
    return () => {
      this.#rings.get(shared)?.();
      this.#rings.delete(shared);
    };
  }

  /** Tells whether the store has an event that was published here, once that is certain or `timeout` has passed. */
  acknowledged(ring: Ring, generation: number): Promise<boolean> {
    return new Promise((resolve) => {
      const isConfirmed = (): boolean => (ring.read(generation)?.counter ?? 0) > 0;
      const settle = (): void => {
        clearTimeout(timer);
        end();
        resolve(isConfirmed());
      };
      const timer = setTimeout(settle, this.#parts.plan.timeoutMs);
      const end = ring.watch(() => {
        if (isConfirmed()) settle();
      });
      if (isConfirmed()) settle();
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    await this.#node?.close();
    this.#node = undefined;
    this.#seat.leave();
  }

  #look(): void {
    const holds = this.#seat.hold(SILENCE_MS);
    if (holds && !this.#node) this.#begin();
    if (holds || !this.#node) return;
    // This worker was silent for so long that another one has begun.
    const { log, plan } = this.#parts;
    log.write('warn', `cluster "${plan.name}": another worker runs the node now`);
    void this.#node.close();
    this.#node = undefined;
    for (const shared of this.#rings.keys()) this.#rings.set(shared, undefined);
  }

  #begin(): void {
    const { plan, memory, version, log, metrics } = this.#parts;
    this.#origins = [...(this.record?.origins ?? [])];
    this.#nodeId = plan.nodeId ?? this.record?.status.node_id ?? keptNodeId(plan.statePath, log);
    const { backend, namespace, retain, timeoutMs } = plan;
    const node = new ClusterNode({
      plan,
      nodeId: this.#nodeId,
      incarnation: zoneIdentity(memory),
      version,
      open: (owner) => new RedisStore({ endpoint: backend, namespace, retain, timeoutMs }, owner),
      backend: redisLabel(backend),
      log,
      metrics: clusterMetrics(metrics, plan.name),
      changed: () => this.#tell(),
    });
    this.#node = node;
    for (const shared of this.#rings.keys()) this.#rings.set(shared, this.#join(node, shared));
    this.#tell();
  }

  #join(node: ClusterNode, shared: SharedRing): () => void {
    const originOf = (name: string): number => this.#originOf(name);
    return node.add(new RingSubject({ ...shared, originOf, self: () => originOf(node.status.node_id) }));
  }

  /** The number of a node in rings. Its name is known to all workers before an entry with the number is. */
  #originOf(name: string): number {
    const known = this.#origins.indexOf(name) + 1;
    if (known > 0) return known;
    this.#origins.push(name);
    this.#tell();
    return this.#origins.length;
  }

  #tell(): void {
    const { status } = this.#node ?? {};
    if (!status) return;
    const record: ClusterRecord = { status, origins: this.#origins };
    const outcome = this.#text.change(() => JSON.stringify(record));
    if (outcome === 'too long')
      this.#text.change(() => JSON.stringify({ ...record, status: { ...status, members: [] } }));
  }
}
