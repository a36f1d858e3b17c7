import { type Caches, openUnattended } from '../../cache/index.ts';
import type { Clusters } from '../../cluster/index.ts';
import type { Check, ExplainScope, GatewayView, TrialApi } from '../../contract/index.ts';
import type { Health } from '../../health/index.ts';
import { type ErrorLog, LogListeners, LogOpener } from '../../log/index.ts';
import type { GatewayPlan } from '../../plan/index.ts';
import { OpenUpstreams, serversOfBlock, type Upstreams } from '../../upstream/index.ts';
import { Counters, createCounterMemory, createZone, type ZoneDeclaration } from '../../zone/index.ts';

const WORKER_ID = 1;
/** More series than any configuration creates with a single request. */
const MAX_SERIES = 4096;

/** The worker scope of a compile without a worker: memory of its own, no files, no sockets, no threads. */
export class QuietScope implements ExplainScope {
  readonly workerId = WORKER_ID;
  readonly isFirst = true;
  readonly generation = 1;
  readonly draining = false;
  readonly metrics = new Counters(createCounterMemory(MAX_SERIES, WORKER_ID + 1), WORKER_ID);
  readonly checks = new Map<string, Check>();
  readonly trials: readonly TrialApi[] = [];
  readonly logListeners = new LogListeners();
  readonly logOpener = new LogOpener();
  readonly log: ErrorLog;
  readonly live: boolean;
  readonly health: Health = { results: () => [] };
  readonly clusters: Clusters = new Map();
  readonly upstreams: Upstreams;
  readonly #plan: GatewayPlan;
  readonly #shared = new Map<string, unknown>();
  readonly #zones = new Map<string, SharedArrayBuffer>();
  #caches: Caches | undefined;
  readonly #retiring = new AbortController();
  readonly #closers: (() => void | Promise<void>)[] = [];

  constructor(plan: GatewayPlan, { log, live }: { readonly log: ErrorLog; readonly live: boolean }) {
    this.#plan = plan;
    this.log = log;
    this.live = live;
    this.upstreams = this.own(OpenUpstreams.withoutLookups(plan.upstreams, this), (opened) => opened.close());
  }

  get caches(): Caches {
    this.#caches ??= openUnattended(this.#plan.caches, this);
    return this.#caches;
  }

  get prefix(): string {
    return this.#plan.main.prefix;
  }

  get clusterNames(): readonly string[] {
    return this.#plan.clusters.map(({ name }) => name);
  }

  get workers(): number {
    return this.#plan.main.workers;
  }

  get retiring(): AbortSignal {
    return this.#retiring.signal;
  }

  get view(): GatewayView {
    throw new Error('a configuration that is explained has no view');
  }

  share<T>(key: string, open: () => T, close: (resource: T) => void | Promise<void>): T {
    if (!this.#shared.has(key)) this.#shared.set(key, this.own(open(), close));
    return this.#shared.get(key) as T;
  }

  own<T>(resource: T, close: (resource: T) => void | Promise<void>): T {
    this.#closers.push(() => close(resource));
    return resource;
  }

  upstream(name: string): readonly string[] | undefined {
    return serversOfBlock(this.#plan.upstreams, name);
  }

  addCheck(): void {
    // Health is never checked.
  }

  addCertificates(): void {
    // No status is shown.
  }

  get certificates(): readonly [] {
    return [];
  }

  addTrials(): void {
    // No request is tried.
  }

  onReopen(): void {
    // There are no files to open again.
  }

  onServing(): void {
    // The configuration never begins to serve.
  }

  zone(name: string): SharedArrayBuffer {
    const known = this.#zones.get(name);
    if (known) return known;
    const declaration = this.zoneDeclaration(name);
    if (!declaration) throw new Error(`zone "${name}" was not declared`);
    const made = createZone(declaration);
    this.#zones.set(name, made);
    return made;
  }

  zoneDeclaration(name: string): ZoneDeclaration | undefined {
    return this.#plan.zones.find((zone) => zone.name === name);
  }

  provided(): unknown {
    return undefined;
  }

  async close(): Promise<void> {
    this.#retiring.abort();
    for (const close of this.#closers.splice(0).reverse()) await close();
  }
}
