import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Report } from '../../grammar/index.ts';
import { configText, judgementOf } from '../lookups.ts';
import { load, prepare } from '../pipeline.ts';
import type { ConfigSource, Loaded } from '../pipeline.ts';
import type { GatewayPlan } from '../plan/index.ts';
import { OwnedResources, SharedResources } from '../worker/index.ts';
import type { Shipment, ThreadLog } from '../worker/index.ts';
import { keepErrorLine, LOG_TAIL, openRing } from '../zone/index.ts';
import { judge } from './judge.ts';
import { isRefused } from './judgement.ts';
import { removePidFile, writePidFile } from './pid-file.ts';
import { probePort } from './probe-port.ts';
import { ProcessMetrics } from './process-metrics.ts';
import { removeSocketFiles } from './socket-files.ts';
import { Workers } from './workers.ts';
import { Zones } from './zones.ts';

/** A load that nothing refused. */
export type Accepted = Loaded & { readonly plan: GatewayPlan };

/** What a master needs to begin: a configuration that loads, and where it came from. */
export interface MasterOptions {
  readonly source: ConfigSource;
  readonly loaded: Accepted;
  readonly log: ThreadLog;
  /** The process that takes signals: the supervisor where there is one. */
  readonly signalPid: number;
  /** Prints what a reload found wrong. */
  readonly show: (report: Report) => void;
}

/** Among the threads that share a zone. */
const MASTER_THREAD = 0;

/** The process: zones, what the whole process shares, the workers, reload and stop. */
export class Master {
  readonly #options: MasterOptions;
  readonly #zones = new Zones();
  readonly #shared = new SharedResources();
  readonly #workers: Workers;
  readonly #metrics: ProcessMetrics;
  #plan: GatewayPlan;
  #resources: OwnedResources | undefined;
  #leaveTail: (() => void) | undefined;
  #generation = 0;
  /** From here on the sockets are ours, not those of another gateway that kept this one from starting. */
  #serves = false;
  /** Start and reloads, one after the other; never fails. */
  #busy: Promise<unknown> = Promise.resolve();
  #reloadWaits = false;
  #stopping: Promise<void> | undefined;
  readonly #hurry = new AbortController();

  constructor(options: MasterOptions) {
    this.#options = options;
    this.#plan = options.loaded.plan;
    const { core, version } = this.#plan.main;
    this.#metrics = new ProcessMetrics({ maxSeries: core.metricsMaxSeries, version });
    this.#metrics.found(options.loaded.report);
    this.#workers = new Workers({
      log: options.log,
      release: (workerId, isAccident) => {
        this.#zones.release(workerId);
        this.#metrics.workerExited(workerId, isAccident);
      },
    });
  }

  /** Resolves when every worker listens. Fails with one line that says why not. */
  start(): Promise<void> {
    const started = this.#start();
    this.#busy = started.catch(() => undefined);
    return started;
  }

  /** One after the other; a configuration that cannot be used leaves the old one in place. */
  reload(): void {
    if (this.#reloadWaits) return;
    this.#reloadWaits = true;
    this.#busy = this.#busy.then(async () => {
      this.#reloadWaits = false;
      if (this.#stopping) return;
      const refusal = await this.#tryReload().catch((error: unknown) => (error as Error).message);
      const { log } = this.#options;
      this.#metrics.loaded(refusal === undefined);
      if (refusal === undefined) log.write('notice', `reload done, configuration ${this.#generation}`);
      else log.write('error', `reload refused, the old configuration goes on: ${refusal}`);
    });
  }

  /** Log files were rotated. */
  reopen(): void {
    this.#options.log.reopen();
    this.#workers.reopen();
  }

  /** Ends workers and resources; the process may exit then. A second, faster stop overtakes a graceful one. */
  stop({ graceful }: { graceful: boolean }): Promise<void> {
    if (!graceful) this.#hurry.abort();
    this.#stopping ??= this.#end(graceful);
    if (!graceful) void this.#workers.stop(false);
    return this.#stopping;
  }

  async #end(graceful: boolean): Promise<void> {
    this.#options.log.write('notice', graceful ? 'gracefully shutting down' : 'exiting');
    this.#workers.announceStop();
    if (graceful && this.#serves) await this.#leaveTimeToNotice();
    await this.#workers.stop(graceful);
    // A start or reload that is under way finds no workers and ends.
    await this.#busy;
    await this.#resources?.close();
    if (this.#serves) removeSocketFiles(this.#plan);
    removePidFile(pidFileOf(this.#plan), this.#options.signalPid);
    this.#options.log.write('notice', 'exit');
  }

  /** `shutdown_delay`: load balancers ask now and then, and send requests until they are told. */
  async #leaveTimeToNotice(): Promise<void> {
    const { shutdownDelayMs } = this.#plan.main.core;
    await delay(shutdownDelayMs, undefined, { signal: this.#hurry.signal }).catch(() => undefined);
  }

  async #start(): Promise<void> {
    const { loaded, log, signalPid } = this.#options;
    setHeadLimit(this.#plan);
    for (const { address } of this.#plan.ports) await probePort(address);
    writePidFile(pidFileOf(this.#plan), signalPid);
    const { shipment, resources } = await this.#ship(loaded);
    this.#resources = resources;
    this.#commitZones(shipment.zones);
    await this.#workers.start(shipment);
    this.#serves = true;
    this.#metrics.loaded(true);
    if (!this.#stopping) log.write('notice', `start worker processes: ${this.#plan.main.workers}`);
    void this.#judge(loaded);
  }

  async #tryReload(): Promise<string | undefined> {
    const { source, show, log } = this.#options;
    const loaded = load(source);
    const { plan, report } = loaded;
    const refused = await isRefused(loaded);
    show(report);
    this.#metrics.found(report);
    if (!plan || refused) return 'the configuration has errors';
    const known = new Set(this.#plan.ports.map(({ address }) => JSON.stringify(address)));
    for (const { address } of plan.ports) if (!known.has(JSON.stringify(address))) await probePort(address);
    const { shipment, resources } = await this.#ship({ ...loaded, plan });
    const refusal = await this.#workers.reload(shipment);
    if (refusal !== undefined) {
      await resources.close();
      return refusal;
    }
    const before = this.#plan;
    this.#plan = plan;
    this.#commitZones(shipment.zones);
    log.use(plan.main.core.errorLogs);
    this.#tellLimits(before);
    this.#movePidFile(before);
    await this.#resources?.close();
    this.#resources = resources;
    void this.#judge(loaded);
    return undefined;
  }

  /** Tells in the log what the rules of `gw check` find, where some log takes it; requests are served meanwhile. */
  async #judge(loaded: Loaded): Promise<void> {
    const { log, source } = this.#options;
    if (!judgementOf(loaded).logs || !log.takes('warn')) return;
    const lines = await judge(source, this.#hurry.signal).catch((error: unknown) => [String(error)]);
    if (this.#stopping) return;
    for (const line of lines) log.write('warn', line);
  }

  /** From here on the zones are those of the workers; what this thread logs shows in the log tail as well. */
  #commitZones(zones: Shipment['zones']): void {
    this.#zones.commit(zones);
    this.#leaveTail?.();
    const buffer = zones.get(LOG_TAIL.name);
    const tail = buffer && openRing(buffer, MASTER_THREAD);
    this.#leaveTail =
      tail && this.#options.log.listeners.add((level, text) => keepErrorLine(tail, level, text));
  }

  #tellLimits(before: GatewayPlan): void {
    if (headLimitOf(this.#plan) <= headLimitOf(before)) return;
    this.#options.log.write('warn', 'larger "large_client_header_buffers" take effect after a restart');
  }

  #movePidFile(before: GatewayPlan): void {
    const { signalPid } = this.#options;
    if (pidFileOf(before) === pidFileOf(this.#plan)) return;
    writePidFile(pidFileOf(this.#plan), signalPid);
    removePidFile(pidFileOf(before), signalPid);
  }

  /** Opens what the process as a whole needs for a plan, and packs what the workers need. */
  async #ship(loaded: Accepted): Promise<{ shipment: Shipment; resources: OwnedResources }> {
    const { log } = this.#options;
    const { plan } = loaded;
    const resources = new OwnedResources({ shared: this.#shared, log, prefix: plan.main.prefix });
    const provided = new Map<string, unknown>();
    try {
      await prepare(
        plan,
        Object.assign(resources, {
          provide: (key: string, value: unknown) => void provided.set(key, value),
          configText: () => configText(loaded),
        }),
      );
    } catch (error) {
      await resources.close();
      throw error;
    }
    const zones = this.#zones.plan(plan.zones);
    const counters = this.#metrics.memoryFor(plan.main.workers);
    return { shipment: { generation: ++this.#generation, plan, zones, counters, provided }, resources };
  }
}

function pidFileOf({ main }: GatewayPlan): string {
  return resolve(main.prefix, main.core.pidFile);
}

/** uWebSockets.js reads its limit for a request head from the environment, once, when the first worker loads it. */
function setHeadLimit(plan: GatewayPlan): void {
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(headLimitOf(plan));
}

function headLimitOf({ ports }: GatewayPlan): number {
  return Math.max(...ports.map(({ head }) => head.bytes), 4096) + 1024;
}
