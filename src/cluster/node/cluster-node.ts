import { setTimeout as sleep } from 'node:timers/promises';
import type { ErrorLog } from '../../log/index.ts';
import type { ClusterPlan } from '../plan.ts';
import {
  type Admitting,
  type Counted,
  type Counting,
  type ClusterStore,
  type Conflict,
  type Grant,
  type Heard,
  secretDigest,
  StoreLost,
  type StoreOwner,
} from '../stores/index.ts';
import { KeyedStream } from './keyed-stream.ts';
import type { KeyedSubject } from './keyed-subject.ts';
import {
  conflictsOf,
  factsText,
  type KnownMember,
  knownMember,
  memberStatus,
  type NodeFacts,
} from './members.ts';
import type { ClusterMetrics } from './metrics.ts';
import type { NodeStream, StreamParts } from './node-stream.ts';
import { NodeWarnings } from './node-warnings.ts';
import { OutboxBytes } from './outbox.ts';
import { SharedStream } from './shared-stream.ts';
import { type ClusterStatus, SECRET } from './status.ts';
import type { Subject } from './subject.ts';

/** Maximum members that the status lists. */
const MOST_SHOWN = 200;
/** A node that misses this many heartbeats is gone. */
const HEARTBEATS = 3;
/** With more members than this, their list is read only at every twelfth heartbeat. */
const FEW_MEMBERS = 50;
const SELDOM = 12;
/** How long a read waits for entries: a stream that is added meanwhile is read by the next one. */
const LONGEST_READ_MS = 5_000;
/** How long a step waits until all entries are sent: while something is published, there may always be more. */
const LONGEST_SENDING_MS = 500;
/** The pause after a failed read while the connection to the store lasts. */
const REFUSED_MS = 1_000;
/** Maximum characters of an error of the store, and of a name that it gives. */
const LONGEST_REASON = 200;
const LONGEST_NAME = 64;

interface NodeParts {
  readonly plan: Pick<
    ClusterPlan,
    'name' | 'secret' | 'namespace' | 'bufferBytes' | 'batchMs' | 'heartbeatMs'
  >;
  readonly nodeId: string;
  /** Identifies this start of the process. */
  readonly incarnation: string;
  /** Returns the facts that the node tells the others with each heartbeat. */
  readonly facts: () => NodeFacts;
  readonly open: (owner: StoreOwner) => ClusterStore;
  readonly backend: string;
  readonly log: ErrorLog;
  readonly metrics: ClusterMetrics;
  /** Publishes an event for the users of this node only. */
  readonly announce: (type: string, facts: Readonly<Record<string, unknown>>) => void;
  /** Called when the status has changed. */
  readonly changed: () => void;
}

/** One gateway of a cluster: its connections to the store, the streams that it shares, and its heartbeat. */
export class ClusterNode implements StoreOwner {
  readonly #parts: NodeParts;
  readonly #store: ClusterStore;
  readonly #bytes: OutboxBytes;
  readonly #warnings: NodeWarnings;
  readonly #streams = new Map<string, NodeStream>();
  readonly #unwatch = new Map<NodeStream, () => void>();
  /** Streams that are no longer shared, but still have entries that wait for the store. */
  readonly #ended = new Set<NodeStream>();
  /** The leases that this node holds, by name. */
  readonly #leases = new Set<string>();
  /** Digests of parameters that are shared without a stream, by name. */
  readonly #digests = new Map<string, string>();
  readonly #heart: NodeJS.Timeout;
  #isUp = false;
  /** All streams have been read to their ends once. */
  #hasStarted = false;
  #reason: string | undefined;
  /** The part of the store that cannot be reached while the rest can, and the reason. */
  #away: { readonly reason: string; readonly has: (stream: string) => boolean } | undefined;
  /** Streams that have begun since their part of the store was reached last. */
  readonly #begun = new Set<NodeStream>();
  /** Why the store refused a call although it can be reached. A heartbeat without a failure clears it. */
  #refusal: string | undefined;
  #members: readonly KnownMember[] = [];
  #membersReadMs = 0;
  #heard: Heard | undefined;
  #beats = 0;
  #telling: Promise<void> | undefined;
  #isComparing = false;
  /** The last heartbeat had no failure. */
  #isTold = true;
  /** Redis' `maxmemory-policy`; `undefined` if it is right or unknown. */
  #policy: string | undefined;
  /** Consecutive heartbeats at which the store told of another node with this id. */
  #taken = 0;
  /** Raised whenever the store is reached or lost: work that began before must not go on. */
  #epoch = 0;
  #isClosed = false;

  constructor(parts: NodeParts) {
    const { name, bufferBytes, heartbeatMs } = parts.plan;
    this.#parts = parts;
    this.#digests.set(SECRET, secretDigest(parts.plan));
    this.#bytes = new OutboxBytes(bufferBytes);
    this.#warnings = new NodeWarnings({ ...parts, name });
    this.#heart = setInterval(() => void this.#beat(), heartbeatMs).unref();
    this.#store = parts.open(this);
  }

  get nodeId(): string {
    return this.#parts.nodeId;
  }

  /** Identifies this start of the process. */
  get incarnation(): string {
    return this.#parts.incarnation;
  }

  /** Shares a subject of events; it replaces a former one of the same stream. Returns the function that ends this. */
  add(subject: Subject): () => void {
    return this.#add(new SharedStream(subject, { ...this.#streamParts, bytes: this.#bytes }), subject);
  }

  /** Shares a subject of keys; it replaces a former one of the same stream. Returns the function that ends this. */
  addKeyed(subject: KeyedSubject): () => void {
    return this.#add(new KeyedStream(subject, this.#streamParts), subject);
  }

  /** Takes or renews a lease. Returns false if another node holds it. Rejects if the store cannot be asked. */
  async lease(name: string, ttlMs: number): Promise<boolean> {
    const isHeld = await this.#store.lease(name, this.#owner, ttlMs);
    if (isHeld) this.#leases.add(name);
    else this.#leases.delete(name);
    return isHeld;
  }

  /** Tells the other nodes the digest of parameters without a stream. Returns the function that ends this. */
  declare(name: string, digest: string): () => void {
    this.#digests.set(name, digest);
    return () => {
      if (this.#digests.get(name) === digest) this.#digests.delete(name);
    };
  }

  /** Counts requests in a bucket of the store. Rejects if the store fails; a refusal is also logged. */
  async admit(admitting: Admitting): Promise<Grant> {
    try {
      return await this.#store.admit(admitting);
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  /** Counts requests in a quota of the store. Rejects as `admit` does. */
  async count(counting: Counting): Promise<Counted> {
    try {
      return await this.#store.count(counting);
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  up(): void {
    const epoch = (this.#epoch += 1);
    if (this.#reason !== undefined) this.#warnings.write('notice', 'the store is reached again');
    else if (this.#away) this.#warnings.write('notice', 'more of the store is reached again');
    this.#isUp = true;
    this.#reason = this.#away = undefined;
    this.#begun.clear();
    void this.#resume(epoch);
  }

  down(reason: string): void {
    this.#epoch += 1;
    if (this.#reason !== reason)
      this.#warnings.write('error', `the store cannot be reached: ${reason}; trying again`);
    this.#isUp = false;
    this.#reason = reason;
    this.#begun.clear();
    for (const shared of this.#streams.values()) shared.interrupted();
    this.#parts.changed();
  }

  partlyDown(reason: string, isAway: (stream: string) => boolean): void {
    this.#warnings.write('error', `a part of the store cannot be reached: ${reason}; trying again`);
    this.#away = { reason, has: isAway };
    for (const [stream, shared] of this.#streams) {
      if (!isAway(stream)) continue;
      this.#begun.delete(shared);
      shared.interrupted();
    }
    this.#parts.changed();
  }

  /** The number of live nodes at the last heartbeat, this one included. */
  get liveNodes(): number {
    return Math.max(1, this.#heard?.members ?? 1);
  }

  get status(): ClusterStatus {
    const { nodeId, backend } = this.#parts;
    const nowMs = performance.now();
    const unheardMs = this.#isUp ? 0 : Math.round(nowMs - this.#membersReadMs);
    return {
      node_id: nodeId,
      backend,
      state: this.#state,
      ...(this.#told !== undefined && { reason: this.#told }),
      members_total: this.#heard?.members ?? 0,
      members: this.#members.slice(0, MOST_SHOWN).map((member) => memberStatus(member, unheardMs)),
      streams: [...this.#streams].map(([stream, shared]) => ({
        stream,
        position: shared.position ?? 0,
        lag_ms: Math.round(shared.lagMs(nowMs)),
        gaps: shared.gaps,
      })),
      conflicts: this.#conflicts.map(({ stream, nodeId: node }) => ({ stream, node_id: node })),
      warnings: [this.#evicts, this.#shares].filter((warning) => warning !== undefined),
      buffer_bytes: this.#bytes.waiting,
    };
  }

  /** Leaves the cluster after a last attempt to send the entries that wait. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#heart);
    for (const end of this.#unwatch.values()) end();
    const { nodeId, incarnation } = this.#parts;
    if (this.#isUp) {
      const all = [...this.#streams.values(), ...this.#ended];
      // Twice: the first call may join a send that began before the last entry was made.
      for (let twice = 0; twice < 2; twice += 1)
        await Promise.allSettled(all.map((shared) => this.#sendFirst(shared)));
      const leases = [...this.#leases];
      await Promise.allSettled(leases.map((name) => this.#store.release(name, this.#owner)));
      await this.#store.leave(nodeId, incarnation).catch(() => undefined);
    }
    this.#epoch += 1;
    this.#store.close();
  }

  /** The owner of this node's leases, as the store knows it. */
  get #owner(): string {
    const { nodeId, incarnation } = this.#parts;
    return `${nodeId} ${incarnation}`;
  }

  get #state(): ClusterStatus['state'] {
    if (this.#isUp && this.#told === undefined) return this.#hasStarted ? 'up' : 'starting';
    return this.#told === undefined ? 'starting' : 'down';
  }

  get #conflicts(): readonly Conflict[] {
    const own = this.#heard?.conflicts ?? [];
    const shared = new Set([...this.#digests.keys(), ...this.#streams.keys()]);
    return conflictsOf({ nodeId: this.#parts.nodeId, own, members: this.#members, shared });
  }

  /** The warning that the store may evict keys, and so lose streams silently. */
  get #evicts(): string | undefined {
    if (this.#policy === undefined) return undefined;
    return `the store has "maxmemory-policy ${this.#policy}": it may remove streams; set "noeviction"`;
  }

  /** The warning that another node has this id. After a restart, the store tells once of the former incarnation. */
  get #shares(): string | undefined {
    if (this.#taken <= 1) return undefined;
    return `another live node has the id "${this.#parts.nodeId}", too`;
  }

  get #told(): string | undefined {
    return this.#reason ?? this.#away?.reason ?? this.#refusal;
  }

  get #streamParts(): StreamParts {
    const { nodeId, plan } = this.#parts;
    return { nodeId, seal: plan, counts: this.#warnings };
  }

  #add(shared: NodeStream, subject: Subject | KeyedSubject): () => void {
    const { stream } = subject;
    const former = this.#streams.get(stream);
    if (former) this.#endStream(former);
    this.#streams.set(stream, shared);
    this.#unwatch.set(
      shared,
      subject.watch(() => void this.#send(shared)),
    );
    if (this.#isUp) void this.#begin(shared, this.#epoch);
    return () => {
      if (this.#streams.get(stream) !== shared) return;
      this.#streams.delete(stream);
      this.#endStream(shared);
    };
  }

  /** Ends the sharing of a stream. Entries that wait are still sent. */
  #endStream(shared: NodeStream): void {
    this.#unwatch.get(shared)?.();
    this.#unwatch.delete(shared);
    this.#begun.delete(shared);
    shared.collect();
    if (shared.waiting === 0) return shared.drop();
    this.#ended.add(shared);
    void this.#sendEnded();
  }

  async #sendEnded(): Promise<void> {
    for (const shared of this.#ended) {
      if (!this.#isUp) return;
      await this.#trying(() => this.#sendFirst(shared), shared);
      if (shared.waiting > 0) continue;
      shared.drop();
      this.#ended.delete(shared);
    }
  }

  /** Resumes on a new connection: compares the streams with the store, sends the entries that wait, and reads on. */
  async #resume(epoch: number): Promise<void> {
    const waiting = [...this.#streams.values()].reduce((sum, shared) => sum + shared.waiting, 0);
    for (const shared of [...this.#streams.values(), ...this.#ended]) await this.#begin(shared, epoch);
    if (waiting > 0 && epoch === this.#epoch)
      this.#warnings.write('notice', `${waiting} entries that had waited were sent`);
    this.#warnings.begin();
    await this.#trying(() => this.#checkPolicy());
    this.#hasStarted ||= epoch === this.#epoch;
    await this.#beat();
    if (epoch === this.#epoch) await this.#read(epoch);
  }

  async #begin(shared: NodeStream, epoch: number): Promise<void> {
    if (epoch !== this.#epoch) return;
    await this.#trying(async () => {
      await shared.begin(this.#store);
      if (epoch === this.#epoch) this.#begun.add(shared);
      await this.#sendFirst(shared);
    }, shared);
  }

  /** Sends the entries that wait. Resolves after a while even if some are left; these are sent beside other work. */
  async #sendFirst(shared: NodeStream): Promise<void> {
    const pause = sleep(LONGEST_SENDING_MS, undefined, { ref: false });
    await Promise.race([shared.send(this.#store), pause]);
  }

  async #send(shared: NodeStream): Promise<void> {
    if (this.#isUp && !this.#isClosed) await this.#trying(() => shared.send(this.#store), shared);
    else shared.collect();
  }

  async #read(epoch: number): Promise<void> {
    const waitMs = Math.min(LONGEST_READ_MS, this.#parts.plan.heartbeatMs);
    while (epoch === this.#epoch && !this.#isClosed) {
      const all = [...this.#streams.values()].filter(({ position }) => position !== undefined);
      const behind = new Map(all.map(({ subject, position }) => [subject.stream, position as number]));
      if (behind.size === 0) {
        await sleep(this.#parts.plan.batchMs, undefined, { ref: false });
        continue;
      }
      const isRead = await this.#trying(async () => {
        const found = await this.#store.read(behind, waitMs);
        if (epoch !== this.#epoch) return;
        for (const shared of all) {
          const { stream } = shared.subject;
          const entries = found.get(stream);
          if (!entries && this.#away?.has(stream)) continue;
          await shared.receive(entries ?? [], behind.get(stream) as number);
          if (shared.position === undefined) await this.#begin(shared, epoch);
        }
        if (found.size > 0) await sleep(this.#parts.plan.batchMs, undefined, { ref: false });
      });
      if (isRead) continue;
      for (const shared of all) shared.isBehind();
      await sleep(REFUSED_MS, undefined, { ref: false });
    }
  }

  /**
   * Neither part overlaps itself: a store may take longer than the time between two heartbeats, and calls that pile up
   * are all given up. A heartbeat does not wait for the streams: without it, the others take this node for gone.
   */
  async #beat(): Promise<void> {
    if (!this.#isUp || this.#isClosed) return this.#parts.changed();
    void this.#compareAll();
    this.#telling ??= this.#tell().finally(() => (this.#telling = undefined));
    await this.#telling;
  }

  async #tell(): Promise<void> {
    // Each step is tried by itself: it may need a part of the store that cannot be reached.
    const isShown = await this.#trying(() => this.#show([...this.#streams.values()]));
    const isRead = this.#beats % SELDOM !== 0 || (await this.#trying(() => this.#checkPolicy()));
    this.#isTold = isShown && isRead;
    this.#warnings.beat();
    this.#parts.changed();
  }

  async #compareAll(): Promise<void> {
    if (this.#isComparing) return;
    this.#isComparing = true;
    let isFine = true;
    for (const shared of this.#streams.values())
      isFine = (await this.#trying(() => this.#look(shared), shared)) && isFine;
    await this.#sendEnded();
    this.#isComparing = false;
    if (isFine && this.#isTold) this.#refusal = undefined;
    this.#parts.changed();
  }

  /** Sends the heartbeat, and learns what the store tells in return. */
  async #show(all: readonly NodeStream[]): Promise<void> {
    const { nodeId, incarnation, plan, facts: tell } = this.#parts;
    const digests = new Map([
      ...this.#digests,
      ...all.map(({ subject }) => [subject.stream, subject.digest] as const),
    ]);
    const facts = factsText(tell(), this.#heard?.conflicts ?? []);
    const { heartbeatMs } = plan;
    this.#heard = await this.#store.beat({ nodeId, incarnation, facts, heartbeatMs, digests });
    this.#warnOfConflicts(this.#heard);
    await this.#learnMembers(this.#heard);
  }

  /** Compares a stream with the store, and sends entries that the store has refused before. */
  async #look(shared: NodeStream): Promise<void> {
    if (shared.position === undefined || !this.#begun.has(shared)) return this.#begin(shared, this.#epoch);
    if (!(await shared.verify(this.#store))) this.#store.restartReading();
    await this.#sendFirst(shared);
  }

  /** Reads the list of members. In a large cluster it is too long for every node to read at each heartbeat. */
  async #learnMembers({ members }: Heard): Promise<void> {
    this.#beats += 1;
    if (members > FEW_MEMBERS && this.#beats % SELDOM !== 1) return;
    const longestMs = HEARTBEATS * this.#parts.plan.heartbeatMs;
    const known = await this.#store.members();
    this.#membersReadMs = performance.now();
    this.#members = known.filter(({ ageMs }) => ageMs <= longestMs).map(knownMember);
  }

  #warnOfConflicts({ conflicts, isTaken }: Heard): void {
    const { nodeId } = this.#parts;
    this.#taken = isTaken ? this.#taken + 1 : 0;
    if (this.#shares !== undefined) this.#warnings.once('taken', this.#shares);
    for (const { stream, nodeId: said } of conflicts) {
      const other = said.slice(0, LONGEST_NAME);
      const message =
        stream === SECRET
          ? `node "${other}" has another secret: each of the two ignores what the other sends`
          : `"${stream}" has other parameters on node "${nodeId}" than on node "${other}"`;
      this.#warnings.once(`${stream} ${other}`, message);
    }
  }

  async #checkPolicy(): Promise<void> {
    const policy = await this.#store.policy();
    const former = this.#policy;
    this.#policy = policy === 'noeviction' ? undefined : policy?.slice(0, LONGEST_NAME);
    if (this.#evicts !== undefined && this.#policy !== former) this.#warnings.write('error', this.#evicts);
  }

  /** Runs a step that needs the store. Returns false if it fails, and logs that unless the connection was lost. */
  async #trying(act: () => Promise<void>, shared?: NodeStream): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (error) {
      this.#failed(error, shared);
      return false;
    }
  }

  #failed(error: unknown, shared?: NodeStream): void {
    if (error instanceof StoreLost || this.#isClosed) return;
    const what = shared ? `"${shared.subject.stream}": ` : '';
    const message = `${what}${(error as Error).message.slice(0, LONGEST_REASON)}`;
    this.#refusal = `it refuses: ${message}`;
    this.#warnings.once(message, `the store refuses: ${message}`);
  }
}
