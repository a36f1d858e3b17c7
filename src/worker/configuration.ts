import { type Caches, openCaches } from '../cache/index.ts';
import { type Clusters, openClusters } from '../cluster/index.ts';
import type { CompiledGateway } from '../compile/index.ts';
import type {
  CertificateView,
  Check,
  CoreConfig,
  GatewayView,
  TrialApi,
  WorkerScope,
} from '../contract/index.ts';
import { type Health, OpenHealth } from '../health/index.ts';
import type { ErrorLog, HeldLogs, LogListeners, LogOpener } from '../log/index.ts';
import { compile } from '../pipeline.ts';
import { OpenUpstreams, serversOfBlock, type Upstreams } from '../upstream/index.ts';
import type { Counters, ZoneDeclaration } from '../zone/index.ts';
import { showFiles } from './certificate-files.ts';
import type { Shipment } from './messages.ts';
import { OwnedResources, type SharedResources } from './resources.ts';

const FRESH_MS = 1_000;
const DEADLINE_MS = 2_000;

/** Wraps a check: it runs at most once a second and has a result within two seconds. */
function probeOf(check: Check): Check {
  let result: Promise<string | undefined> | undefined;
  return () => {
    result ??= inTime(check).finally(() => {
      setTimeout(() => (result = undefined), FRESH_MS).unref();
    });
    return result;
  };
}

async function inTime(check: Check): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no result within ${DEADLINE_MS / 1_000} s`), DEADLINE_MS);
  });
  try {
    return await Promise.race([check(), late]);
  } catch {
    return 'the check failed';
  } finally {
    clearTimeout(timer);
  }
}

/** The parts of a worker that its configurations share. */
export interface WorkerFacts {
  readonly workerId: number;
  readonly isFirst: boolean;
  readonly shared: SharedResources;
  readonly log: ErrorLog;
  readonly logListeners: LogListeners;
  readonly logOpener: LogOpener;
  readonly metrics: Counters;
  readonly isDraining: () => boolean;
}

const IDLE_CHECK_MS = 25;
/** Sockets report in the next turns of the event loop that they were closed. */
const LEAVING_MS = 500;

/** One configuration in one worker, from compiling to its last request. */
export class Configuration extends OwnedResources implements WorkerScope {
  readonly workerId: number;
  readonly isFirst: boolean;
  readonly generation: number;
  readonly metrics: Counters;
  readonly logListeners: LogListeners;
  readonly logOpener: LogOpener;
  readonly checks = new Map<string, Check>();
  readonly trials: TrialApi[] = [];
  readonly #certificates: (() => readonly CertificateView[])[] = [];
  readonly #shipment: Shipment;
  readonly #isDraining: () => boolean;
  readonly #retiring = new AbortController();
  readonly #reopeners = new Set<() => void>();
  readonly #starters: (() => void)[] = [];
  #caches: Caches = new Map();
  #clusters: Clusters = new Map();
  #upstreams: OpenUpstreams | undefined;
  #health: OpenHealth | undefined;
  #compiled: CompiledGateway | undefined;

  private constructor(shipment: Shipment, worker: WorkerFacts) {
    super({ ...worker, prefix: shipment.plan.main.prefix });
    this.workerId = worker.workerId;
    this.isFirst = worker.isFirst;
    this.metrics = worker.metrics;
    this.logListeners = worker.logListeners;
    this.logOpener = worker.logOpener;
    this.#isDraining = worker.isDraining;
    this.generation = shipment.generation;
    this.#shipment = shipment;
  }

  /** Compiles the plan and opens its resources. If that fails, closes them again and rejects. */
  static async open(shipment: Shipment, worker: WorkerFacts): Promise<Configuration> {
    const configuration = new Configuration(shipment, worker);
    try {
      await configuration.#openUpstreams();
      configuration.#caches = openCaches(shipment.plan.caches, configuration);
      const { plan } = shipment;
      configuration.#clusters = openClusters(plan.clusters, configuration, plan.main);
      showFiles(plan, configuration);
      configuration.#compiled = await compile(shipment.plan, configuration);
      return configuration;
    } catch (error) {
      await configuration.close();
      throw error;
    }
  }

  get ports(): CompiledGateway['ports'] {
    return this.#compiled?.ports ?? [];
  }

  get view(): GatewayView {
    if (!this.#compiled) throw new Error('the configuration is not compiled yet');
    return this.#compiled.view;
  }

  get upstreams(): Upstreams {
    if (!this.#upstreams) throw new Error('the upstreams are not open yet');
    return this.#upstreams;
  }

  get caches(): Caches {
    return this.#caches;
  }

  get clusters(): Clusters {
    return this.#clusters;
  }

  get health(): Health {
    if (!this.#health) throw new Error('the active checks are not open yet');
    return this.#health;
  }

  get core(): CoreConfig {
    return this.#shipment.plan.main.core;
  }

  get logs(): HeldLogs {
    return this.#shipment.logs;
  }

  get workers(): number {
    return this.#shipment.plan.main.workers;
  }

  get connections(): number | undefined {
    return this.#shipment.plan.main.connections;
  }

  get inFlight(): number {
    return this.#compiled?.usage.inFlight ?? 0;
  }

  get draining(): boolean {
    return this.#isDraining();
  }

  get retiring(): AbortSignal {
    return this.#retiring.signal;
  }

  addCheck(name: string, check: Check): void {
    this.checks.set(name, probeOf(check));
  }

  addCertificates(source: () => readonly CertificateView[]): void {
    this.#certificates.push(source);
  }

  get certificates(): readonly CertificateView[] {
    return this.#certificates.flatMap((source) => source());
  }

  addTrials(api: TrialApi): void {
    this.trials.push(api);
  }

  onReopen(listener: () => void): void {
    this.#reopeners.add(listener);
  }

  reopen(): void {
    for (const listener of this.#reopeners) listener();
  }

  onServing(listener: () => void): void {
    this.#starters.push(listener);
  }

  serve(): void {
    for (const listener of this.#starters) listener();
  }

  zone(name: string): SharedArrayBuffer {
    const buffer = this.#shipment.zones.get(name);
    if (!buffer) throw new Error(`zone "${name}" was not declared`);
    return buffer;
  }

  zoneDeclaration(name: string): ZoneDeclaration | undefined {
    return this.#shipment.plan.zones.find((zone) => zone.name === name);
  }

  provided(key: string): unknown {
    return this.#shipment.provided.get(key);
  }

  upstream(name: string): readonly string[] | undefined {
    return serversOfBlock(this.#shipment.plan.upstreams, name);
  }

  async #openUpstreams(): Promise<void> {
    const opened = await OpenUpstreams.open(this.#shipment.plan.upstreams, this);
    this.#upstreams = this.own(opened, (upstreams) => upstreams.close());
    const health = new OpenHealth(this.#shipment.plan.health, (key) => opened.probed(key), this);
    this.#health = this.own(health, (checks) => checks.close());
  }

  /** Ends endless responses, so that all requests in flight finish. */
  retire(): void {
    this.#health?.close();
    this.#retiring.abort();
  }

  /**
   * Resolves when the last request has finished, at the end of `worker_shutdown_timeout`, which began at `sinceMs`, or
   * when `hurry` is aborted.
   */
  async idle(sinceMs: number, hurry: AbortSignal): Promise<void> {
    await this.#waitForRequests(sinceMs + this.core.shutdownTimeoutMs, hurry);
  }

  /** Resolves when requests whose connections were cut have ended: their lines must be written before the log closes. */
  async left(): Promise<void> {
    await this.#waitForRequests(performance.now() + LEAVING_MS);
  }

  async #waitForRequests(untilMs: number, hurry?: AbortSignal): Promise<void> {
    while (this.inFlight > 0 && performance.now() < untilMs && hurry?.aborted !== true) {
      await new Promise((resolve) => {
        setTimeout(resolve, IDLE_CHECK_MS);
      });
    }
  }
}
