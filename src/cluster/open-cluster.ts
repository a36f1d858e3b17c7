import { setTimeout as sleep } from 'node:timers/promises';
import type { ErrorLog } from '../log/index.ts';
import { type Counters, type Seat, SharedText, zoneIdentity } from '../zone/index.ts';
import {
  clusterMetrics,
  ClusterNode,
  type ClusterRecord,
  type ClusterStatus,
  keptNodeId,
  type NodeFacts,
} from './node/index.ts';
import type { ClusterPlan } from './plan.ts';
import { backendLabel, openStore } from './stores/index.ts';
import {
  ClusterDictionaries,
  ClusterEvents,
  ClusterLimits,
  ClusterPurges,
  ClusterQuotas,
  ClusterSessions,
  ClusterUpstreams,
  type Joining,
  type Leaving,
  type Sharing,
  WorkerCalls,
} from './subjects/index.ts';

/** How long the worker that runs the node may be silent before another one takes its place. */
const SILENCE_MS = 3_000;
const LOOK_MS = 250;
/** The maximum age of the status that other workers read. */
const TELL_MS = 1_000;
/** How long a gateway that starts waits for its streams, at most, before it is ready. */
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
  /** One object for all that a worker opens under one name, one configuration after another. */
  readonly turn: ClusterTurn;
}

/** A configuration that uses the cluster. */
interface ServedConfiguration {
  readonly digest: string;
  /** In `performance.now()`. */
  readonly sinceMs: number;
}

/** Of the clusters of one name in a worker, only the latest may run the node. */
export interface ClusterTurn {
  latest?: OpenCluster;
}

/** A cluster in one worker. The worker that holds the seat runs the node for all workers of the process. */
export class OpenCluster implements Sharing {
  readonly dictionaries: ClusterDictionaries;
  readonly events: ClusterEvents;
  readonly purges: ClusterPurges;
  readonly limits: ClusterLimits;
  readonly quotas: ClusterQuotas;
  readonly upstreams: ClusterUpstreams;
  readonly sessions: ClusterSessions;
  readonly #parts: OpenClusterParts;
  readonly #text: SharedText;
  readonly #seat: Seat;
  /** Resolves when the former cluster of this name has left; absent: there was none. */
  readonly #turn: Promise<void> | undefined;
  #looking: NodeJS.Timeout | undefined;
  readonly #shared = new Map<Joining, Leaving | undefined>();
  readonly #calls: WorkerCalls;
  #hasYielded = false;
  /** The shared text has no room for the record. Logged once. */
  #isFull = false;
  readonly #openedMs = performance.now();
  /** The configurations that this worker has open, the latest last. */
  readonly #configurations = new Set<ServedConfiguration>();
  #node: ClusterNode | undefined;
  #origins: string[] = [];
  #nodeId: string | undefined;
  #toldMs = 0;
  #record: { readonly revision: number; readonly record: ClusterRecord } | undefined;

  constructor(parts: OpenClusterParts) {
    this.#parts = parts;
    this.#text = new SharedText(parts.memory, parts.workerId);
    this.#seat = this.#text.seat(0);
    this.#calls = new WorkerCalls(`gw cluster ${zoneIdentity(parts.memory)}`, parts.workerId);
    this.dictionaries = new ClusterDictionaries(this);
    this.events = new ClusterEvents(this, (name) => this.#originOf(name));
    this.purges = new ClusterPurges(this);
    this.limits = new ClusterLimits(this);
    this.quotas = new ClusterQuotas(this);
    this.upstreams = new ClusterUpstreams(this);
    this.sessions = new ClusterSessions(this);
    const { turn } = parts;
    // Two nodes of one gateway would put the same entries into its rings twice, and write the same files.
    const former = turn.latest;
    this.#turn = former && former.#yield();
    turn.latest = this;
    if (this.#turn) void this.#turn.then(() => this.#compete());
    else this.#compete();
  }

  /** The name of this node; empty for a moment at the start if the configuration sets none. */
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

  get log(): ErrorLog {
    return this.#parts.log;
  }

  get metrics(): Counters {
    return this.#parts.metrics;
  }

  get node(): ClusterNode | undefined {
    return this.#node;
  }

  /** The last record of the worker that runs the node; `undefined` if there is none yet. */
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

  /** The number of live gateways that this worker knows of, this one included. */
  get liveNodes(): number {
    return this.#node?.liveNodes ?? Math.max(1, this.record?.status.members_total ?? 1);
  }

  /** Returns the name of the node that has published an entry of a ring. */
  originName(origin: number): string {
    if (origin === 0) return this.nodeId;
    return this.record?.origins[origin - 1] ?? '';
  }

  /** Why the gateway is not ready, if so: its streams are being read, or a required store cannot be reached. */
  get fault(): string | undefined {
    const { state = 'starting' } = this.status ?? {};
    if (state === 'up') return undefined;
    if (this.#parts.plan.required) return 'the store cannot be reached';
    const isWaiting = state === 'starting' && performance.now() - this.#openedMs < LONGEST_START_MS;
    return isWaiting ? 'the streams are being read' : undefined;
  }

  /** Tells the other nodes which configuration is served from now on. Returns the function that ends this. */
  serves(digest: string): () => void {
    const configuration = { digest, sinceMs: performance.now() };
    this.#configurations.add(configuration);
    return () => void this.#configurations.delete(configuration);
  }

  share(join: Joining): () => void {
    this.#shared.set(join, this.#node && join(this.#node));
    return () => {
      void this.#shared.get(join)?.();
      this.#shared.delete(join);
    };
  }

  ask(kind: string, question: unknown, timeoutMs: number): Promise<unknown> {
    return this.#calls.ask(kind, question, timeoutMs);
  }

  answer(kind: string, answerer: (question: unknown) => Promise<unknown>): void {
    this.#calls.answer(kind, answerer);
  }

  async close(): Promise<void> {
    await this.#yield();
    // Another worker, or the next configuration of this one, may take the purges that wait.
    await Promise.race([this.purges.handed(), sleep(SILENCE_MS, undefined, { ref: false })]);
    this.#calls.close();
    const { turn } = this.#parts;
    if (turn.latest !== this) return;
    delete turn.latest;
    this.#seat.leave();
  }

  get #facts(): NodeFacts {
    const { digest = '', sinceMs = performance.now() } = [...this.#configurations].at(-1) ?? {};
    const loadedAgeMs = Math.round(performance.now() - sinceMs);
    return { version: this.#parts.version, configuration: digest, loadedAgeMs };
  }

  /** Tries to take the seat at intervals, and runs the node while it holds the seat. */
  #compete(): void {
    if (this.#hasYielded) return;
    this.#looking = setInterval(() => this.#look(), LOOK_MS).unref();
    this.#look();
  }

  /** Stops running the node, and never runs it again. */
  async #yield(): Promise<void> {
    clearInterval(this.#looking);
    this.#hasYielded = true;
    await this.#turn;
    await this.#end();
  }

  #look(): void {
    const holds = this.#seat.hold(SILENCE_MS);
    if (holds && !this.#node) this.#begin();
    if (holds && performance.now() - this.#toldMs >= TELL_MS) this.#tell();
    if (holds || !this.#node) return;
    // This worker hung for so long that another one has taken the seat.
    const { log, plan } = this.#parts;
    log.write('warn', `cluster "${plan.name}": another worker runs the node now`);
    void this.#end();
  }

  #begin(): void {
    const { plan, memory, log, metrics } = this.#parts;
    this.#origins = [...(this.record?.origins ?? [])];
    this.#nodeId = plan.nodeId ?? this.record?.status.node_id ?? keptNodeId(plan.statePath, log);
    const node = new ClusterNode({
      plan,
      nodeId: this.#nodeId,
      incarnation: zoneIdentity(memory),
      facts: () => this.#facts,
      open: (owner) => openStore(plan, owner),
      backend: backendLabel(plan.backend),
      log,
      metrics: clusterMetrics(metrics, plan.name),
      announce: (type, facts) => this.events.announce(type, facts),
      changed: () => this.#tell(),
    });
    this.#node = node;
    for (const join of this.#shared.keys()) this.#shared.set(join, join(node));
    this.#calls.serve(true);
    this.#tell();
  }

  async #end(): Promise<void> {
    const node = this.#node;
    const leaves = [...this.#shared.values()];
    // This worker may begin a new node before the old one has left.
    this.#node = undefined;
    for (const join of this.#shared.keys()) this.#shared.set(join, undefined);
    this.#calls.serve(false);
    await node?.close();
    for (const leave of leaves) await leave?.();
  }

  /** Returns the number of a node in rings. All workers know its name before they see an entry with the number. */
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
    this.#toldMs = performance.now();
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
