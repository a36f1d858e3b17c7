import { createHash } from 'node:crypto';
import type { ErrorLog } from '../log/index.ts';
import { redisLabel } from '../redis/index.ts';
import { type Counters, type Ring, type Seat, SharedText, zoneIdentity } from '../zone/index.ts';
import { ClusterNode } from './cluster-node.ts';
import { KeptPosition } from './kept-position.ts';
import { type Bucket, bucketId, LimitLeases, LOST, Refusals, type Verdict } from './limit-leases.ts';
import { clusterMetrics, type LimitMetrics, limitMetrics } from './metrics.ts';
import { keptNodeId } from './node-id.ts';
import type { ClusterPlan } from './plan.ts';
import { PurgeSubject, type SharedCaches, type ZonePurge } from './purge-subject.ts';
import { RedisStore } from './redis-store.ts';
import { RingSubject } from './ring-subject.ts';
import type { ClusterRecord, ClusterStatus } from './status.ts';
import { CallLost, WorkerCalls } from './worker-calls.ts';

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
  /** The same for all that a worker opens of one cluster, one configuration after another. */
  readonly turn: ClusterTurn;
}

/** Which of the clusters of one name may run the node: the latest one of the worker. */
export interface ClusterTurn {
  latest?: OpenCluster;
}

/** Makes the node share something; returns the function that ends it. */
type Joining = (node: ClusterNode) => Leaving;
type Leaving = () => void | Promise<void>;

/** A request of a shared rate limit; rates and fills are in thousandths of requests. */
interface LimitedRequest extends Omit<Bucket, 'keyHash'> {
  /** The value that requests are told apart by. */
  readonly key: string;
}

/** What workers ask the one that runs the node. */
type Question =
  | { readonly kind: 'purges'; readonly purges: readonly ZonePurge[] }
  | { readonly kind: 'limit'; readonly bucket: Bucket };

/** How long a purge is handed to the worker that runs the node, if that does not answer. */
const HANDING_MS = 1_000;
const MOST_HANDED = 10;

/** A cluster as one worker sees it. One worker of the process runs the node for all of them. */
export class OpenCluster {
  readonly #parts: OpenClusterParts;
  readonly #text: SharedText;
  readonly #seat: Seat;
  readonly #looking: NodeJS.Timeout;
  readonly #shared = new Map<Joining, Leaving | undefined>();
  readonly #calls: WorkerCalls;
  /** Of all configurations, the latest last. */
  readonly #caches = new Set<SharedCaches>();
  #purges: PurgeSubject | undefined;
  #hasYielded = false;
  /** The text has no room for what is to be told. */
  #isFull = false;
  #unsharePurges: (() => void) | undefined;
  readonly #limitMetrics = new Map<string, LimitMetrics>();
  /** What the worker that runs the node need not be asked again. */
  readonly #refusals = new Refusals();
  #leases: LimitLeases | undefined;
  readonly #openedMs = performance.now();
  #node: ClusterNode | undefined;
  #origins: string[] = [];
  #nodeId: string | undefined;
  #record: { readonly revision: number; readonly record: ClusterRecord } | undefined;

  constructor(parts: OpenClusterParts) {
    this.#parts = parts;
    this.#text = new SharedText(parts.memory, parts.workerId);
    this.#seat = this.#text.seat(0);
    this.#calls = new WorkerCalls(`gw cluster ${zoneIdentity(parts.memory)}`, parts.workerId);
    this.#looking = setInterval(() => this.#look(), LOOK_MS).unref();
    const { turn } = parts;
    const former = turn.latest;
    turn.latest = this;
    // Two nodes of one gateway would each put the same entries into its rings.
    if (former) void former.#yield().then(() => this.#look());
    else this.#look();
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

  /** How many gateways are live, this one included, as far as it has heard. */
  get liveNodes(): number {
    return this.#node?.liveNodes ?? Math.max(1, this.record?.status.members_total ?? 1);
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
    const identity = zoneIdentity(memory);
    const originOf = (name: string): number => this.#originOf(name);
    return this.#share((node) => {
      const self = (): number => originOf(node.status.node_id);
      const store = storeNumber(this.#parts.plan);
      return node.add(new RingSubject({ zone, ring, identity, store, originOf, self }));
    });
  }

  /** Shares the purges of caches. Returns the function that ends it. */
  sharePurges(caches: SharedCaches): () => void {
    this.#caches.add(caches);
    this.#unsharePurges ??= this.#share((node) => this.#joinPurges(node));
    return () => {
      this.#caches.delete(caches);
      if (this.#caches.size > 0) return;
      this.#unsharePurges?.();
      this.#unsharePurges = undefined;
    };
  }

  /** Tells the other nodes of purges that were done here. Never rejects: what could not be handed over is logged. */
  async purge(purges: readonly ZonePurge[]): Promise<void> {
    for (let attempt = 1; attempt <= MOST_HANDED; attempt += 1) {
      try {
        await this.#ask({ kind: 'purges', purges }, HANDING_MS);
        return;
      } catch (error) {
        if (!(error instanceof CallLost)) throw error;
      }
    }
    const { log, plan } = this.#parts;
    log.write(
      'error',
      `cluster "${plan.name}": a purge could not be handed to the node; other gateways do not know of it`,
    );
  }

  /** Lets the other gateways know the parameters of a rate limit. Returns the function that ends it. */
  shareLimit(zone: string, digest: string): () => void {
    this.#metricsOf(zone);
    return this.#share((node) => node.declare(`li:${zone}`, digest));
  }

  /** Counts a request in a bucket that all gateways share. Never rejects, and takes no longer than `limits wait`. */
  async admit({ key, ...limit }: LimitedRequest): Promise<Verdict> {
    // Hashed: it is a text of clients, of any length.
    const bucket = { ...limit, keyHash: createHash('sha256').update(key).digest('base64url') };
    const id = bucketId(bucket);
    const refusal = this.#refusals.find(id, bucket);
    if (refusal) return refusal;
    const verdict = await this.#verdictOf(bucket);
    if (verdict.verdict === 'refused') this.#refusals.add(id, verdict.excess);
    if (verdict.verdict === 'lost') this.#metricsOf(limit.zone).fallbacks.add();
    return verdict;
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
    await this.#yield();
    this.#calls.close();
    const { turn } = this.#parts;
    if (turn.latest !== this) return;
    delete turn.latest;
    this.#seat.leave();
  }

  /** Runs the node no more. */
  async #yield(): Promise<void> {
    clearInterval(this.#looking);
    this.#hasYielded = true;
    await this.#end();
  }

  #look(): void {
    if (this.#hasYielded) return;
    const holds = this.#seat.hold(SILENCE_MS);
    if (holds && !this.#node) this.#begin();
    if (holds || !this.#node) return;
    // This worker was silent for so long that another one has begun.
    const { log, plan } = this.#parts;
    log.write('warn', `cluster "${plan.name}": another worker runs the node now`);
    void this.#end();
  }

  #begin(): void {
    const { plan, memory, version, log, metrics } = this.#parts;
    this.#origins = [...(this.record?.origins ?? [])];
    this.#nodeId = plan.nodeId ?? this.record?.status.node_id ?? keptNodeId(plan.statePath, log);
    const { backend, namespace, retain, timeoutMs, limits } = plan;
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
    this.#leases = new LimitLeases({
      ...limits,
      liveNodes: () => node.liveNodes,
      take: (admitting) => {
        this.#metricsOf(admitting.zone).calls.add();
        return node.admit(admitting);
      },
    });
    for (const join of this.#shared.keys()) this.#shared.set(join, join(node));
    this.#calls.answerWith((question) => this.#answer(question as Question));
    this.#tell();
  }

  #share(join: Joining): () => void {
    this.#shared.set(join, this.#node && join(this.#node));
    return () => {
      void this.#shared.get(join)?.();
      this.#shared.delete(join);
    };
  }

  async #end(): Promise<void> {
    const node = this.#node;
    const leaves = [...this.#shared.values()];
    // This worker may begin anew before the old node has left.
    this.#node = undefined;
    this.#leases = undefined;
    for (const join of this.#shared.keys()) this.#shared.set(join, undefined);
    this.#calls.answerWith(undefined);
    await node?.close();
    for (const leave of leaves) await leave?.();
  }

  #joinPurges(node: ClusterNode): Leaving {
    const { plan, log } = this.#parts;
    const position = new KeptPosition(plan.statePath, 'purges', log);
    const subject = new PurgeSubject({ shared: () => [...this.#caches].reverse(), position });
    this.#purges = subject;
    const leave = node.add(subject);
    return () => {
      leave();
      if (this.#purges === subject) this.#purges = undefined;
      return subject.close();
    };
  }

  #ask(question: Question, timeoutMs: number): Promise<unknown> {
    return this.#calls.ask(question, timeoutMs);
  }

  async #verdictOf(bucket: Bucket): Promise<Verdict> {
    try {
      return (await this.#ask({ kind: 'limit', bucket }, this.#parts.plan.limits.waitMs)) as Verdict;
    } catch (error) {
      if (error instanceof CallLost) return LOST;
      throw error;
    }
  }

  /** Answers a worker. */
  #answer(question: Question): Promise<Verdict | true> {
    switch (question.kind) {
      case 'limit':
        return this.#leases?.admit(question.bucket) ?? Promise.resolve(LOST);
      case 'purges':
        return this.#addPurges(question.purges);
    }
  }

  /** Tells the other nodes of purges that a worker has done. */
  #addPurges(done: readonly ZonePurge[]): Promise<true> {
    const purges = this.#purges;
    if (!purges) return Promise.reject(new CallLost('no purges are shared'));
    for (const purge of done) purges.add(purge);
    return Promise.resolve(true);
  }

  #metricsOf(zone: string): LimitMetrics {
    const known = this.#limitMetrics.get(zone) ?? limitMetrics(this.#parts.metrics, zone);
    this.#limitMetrics.set(zone, known);
    return known;
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
    if (outcome !== 'too long') return;
    const short = { ...record, status: { ...status, members: [] } };
    if (this.#text.change(() => JSON.stringify(short)) !== 'too long' || this.#isFull) return;
    this.#isFull = true;
    const { log, plan } = this.#parts;
    log.write('error', `cluster "${plan.name}": more nodes have published than names fit the shared memory`);
  }
}

/** Tells streams of one name apart that are in different stores or namespaces: 48 bits, from 1. */
function storeNumber({ backend, namespace }: ClusterPlan): number {
  const digest = createHash('sha256')
    .update(`${redisLabel(backend)} ${namespace}`)
    .digest();
  return digest.readUIntBE(0, 6) + 1;
}
