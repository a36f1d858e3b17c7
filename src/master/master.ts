import { setTimeout as delay } from 'node:timers/promises';
import { prepare } from '../pipeline.ts';
import type { ConfigText } from '../contract/index.ts';
import { addressText, type GatewayPlan } from '../plan/index.ts';
import type { Account } from '../system/index.ts';
import { serversOfBlock } from '../upstream/index.ts';
import {
  OwnedResources,
  SharedResources,
  type Shipment,
  type ThreadLog,
  SettledMemory,
} from '../worker/index.ts';
import {
  createZone,
  keepErrorLine,
  keepsZone,
  LOG_TAIL,
  markDead,
  openRing,
  type ZoneDeclaration,
} from '../zone/index.ts';
import type { AcceptedCandidate, Candidate } from './candidate.ts';
import { expiredCertificates } from './expired-certificates.ts';
import type { Privileges } from './privileges/index.ts';
import { pidFileOf } from './process-files.ts';
import { ProcessMetrics } from './process-metrics.ts';
import type { Outcome } from './protocol.ts';
import { type OpenZone, partsOf, restoreState } from './upgrade/carried-state.ts';
import { handOver, untilClosed } from './upgrade/hand-over.ts';
import { isUpgrade } from './upgrade/inheritance.ts';
import { largestIdOf, Workers } from './workers.ts';

/** The shared memory of the process by name. Content survives reloads as long as name and size stay the same. */
class Zones {
  #buffers: ReadonlyMap<string, SharedArrayBuffer> = new Map();

  /** Returns the zones of a new configuration. Changes nothing until `commit`. */
  plan(declarations: readonly ZoneDeclaration[]): ReadonlyMap<string, SharedArrayBuffer> {
    return new Map(declarations.map((declaration) => [declaration.name, this.#bufferFor(declaration)]));
  }

  commit(buffers: ReadonlyMap<string, SharedArrayBuffer>): void {
    this.#buffers = buffers;
  }

  /** Releases the locks and entries that a dead worker held in any zone. */
  release(workerId: number): void {
    for (const buffer of this.#buffers.values()) markDead(buffer, workerId);
  }

  /** Returns the declarations with their memory. */
  of(declarations: readonly ZoneDeclaration[]): readonly OpenZone[] {
    return declarations.flatMap((declaration) => {
      const buffer = this.#buffers.get(declaration.name);
      return buffer ? [[declaration, buffer] as const] : [];
    });
  }

  #bufferFor(declaration: ZoneDeclaration): SharedArrayBuffer {
    const known = this.#buffers.get(declaration.name);
    return known && keepsZone(known, declaration) ? known : createZone(declaration);
  }
}

/** Options of a `Master`. */
interface MasterOptions {
  readonly privileges: Privileges;
  /** The account that the process becomes before it serves; absent if it keeps its own. */
  readonly account: Account | undefined;
  readonly log: ThreadLog;
  /** Shows the faults of a reload. */
  readonly show: (faults: Candidate['faults']) => void;
  /** Called when all workers listen, with the path of the pid file. */
  readonly onReady: (pidFile: string) => void;
  /** Called when a reload has ended, or an upgrade is refused. */
  readonly onEnd: (outcome: Outcome, pidFile: string) => void;
}

/** Thread id of the master in shared zones. */
const MASTER_THREAD = 0;

/** The master: owns the zones, the shared resources and the workers, and performs reload and stop. */
export class Master {
  readonly #options: MasterOptions;
  readonly #zones = new Zones();
  readonly #shared = new SharedResources();
  readonly #workers: Workers;
  readonly #memory = new SettledMemory();
  readonly #metrics: ProcessMetrics;
  #plan: GatewayPlan;
  #resources: OwnedResources | undefined;
  #leaveTail: (() => void) | undefined;
  #generation = 0;
  /** True once this gateway owns its sockets, so that files of another gateway's sockets are not removed. */
  #serves = false;
  /** The queue of start, reloads and reopening; never rejects. */
  #busy: Promise<unknown> = Promise.resolve();
  #reloadWaits = false;
  #reopenWaits = false;
  #stopping: Promise<void> | undefined;
  /** True if another master serves on the same sockets. */
  #isReplaced = false;
  /** The parts of the state that the master of an upgrade has not asked for yet. */
  #state: ReturnType<typeof partsOf> | undefined;
  readonly #hurry = new AbortController();
  /** Ends the search for findings. */
  #judging = new AbortController();

  /** `candidate` is the configuration to start with; it is not kept, because its text and tree may be large. */
  constructor({ plan, faults }: AcceptedCandidate, options: MasterOptions) {
    this.#options = options;
    this.#plan = plan;
    const { core, metricsBuckets: buckets, version } = this.#plan.main;
    const supervisor = process.env['GW_SUPERVISOR_VERSION'];
    this.#metrics = new ProcessMetrics({ maxSeries: core.metricsMaxSeries, buckets, version, supervisor });
    this.#metrics.found(faults);
    this.#memory.loaded();
    this.#workers = new Workers({
      log: options.log,
      privileges: options.privileges,
      release: (workerId, isAccident) => {
        this.#zones.release(workerId);
        this.#metrics.workerExited(workerId, isAccident);
      },
    });
  }

  /**
   * Starts the gateway; resolves when all workers listen, or when it was stopped meanwhile, and rejects with a reason in
   * one line.
   */
  start(candidate: AcceptedCandidate): Promise<void> {
    const started = this.#start(candidate).catch((error: unknown) => {
      // What a stop has broken off is not a fault.
      if (!this.#stopping) throw error;
    });
    this.#busy = started.catch(() => undefined);
    return started;
  }

  /** Reloads the configuration. Reloads run one after the other; a refused configuration leaves the old one in place. */
  reload(): void {
    if (this.#reloadWaits) return;
    this.#reloadWaits = true;
    this.#busy = this.#busy.then(async () => {
      this.#reloadWaits = false;
      if (this.#stopping) return;
      const began = String(process.hrtime.bigint());
      this.#options.log.write('notice', 'reconfiguring');
      const refusal = await this.#tryReload().catch((error: unknown) => (error as Error).message);
      this.#memory.loaded();
      const { log, privileges } = this.#options;
      this.#metrics.loaded(refusal === undefined);
      const isDone = refusal === undefined;
      const text = isDone
        ? `reload done, configuration ${this.#generation}`
        : `reload refused, the old configuration goes on: ${refusal}`;
      if (!isDone)
        await privileges.refused().catch((error: unknown) => log.write('alert', (error as Error).message));
      log.write(isDone ? 'notice' : 'error', text);
      this.#options.onEnd({ kind: 'reload', began, isDone, text }, pidFileOf(this.#plan));
    });
  }

  /** Answers the request for an upgrade that cannot be. */
  refuseUpgrade(text: string): void {
    const began = String(process.hrtime.bigint());
    this.#options.onEnd({ kind: 'upgrade', began, isDone: false, text }, pidFileOf(this.#plan));
  }

  /** Hands copies of the listening sockets to the supervisor, after a reload that is under way. */
  handOver(): Promise<void> {
    this.#options.log.write('notice', 'a new program starts, handing over the listening sockets');
    const handed = this.#busy.then(() => {
      this.#state = undefined;
      return handOver(this.#plan.ports);
    });
    this.#busy = handed;
    return handed;
  }

  /** Returns the next part of the state that an upgrade carries over; '' after the last one. */
  nextPart(): string {
    try {
      this.#state ??= partsOf(this.#zones.of(this.#plan.zones));
      return this.#state.next().value ?? '';
    } catch (error) {
      this.#options.log.write('error', `the state cannot be carried over: ${(error as Error).message}`);
      return '';
    }
  }

  /** Resolves when a stopped master accepts no more connections. */
  async left(): Promise<void> {
    await untilClosed(this.#plan.ports);
    this.#options.log.write('notice', 'the listening sockets are closed');
  }

  /** Reopens log files after rotation, and after a reload in progress. Calls in the meantime are combined. */
  reopen(): void {
    if (this.#reopenWaits) return;
    this.#reopenWaits = true;
    this.#busy = this.#busy.then(async () => {
      this.#reopenWaits = false;
      const { privileges, log } = this.#options;
      const faults = await privileges
        .reopen(this.#plan)
        .catch((error: unknown): readonly string[] => [(error as Error).message]);
      log.reopen();
      for (const fault of faults) log.write('emerg', fault);
      await this.#workers.reopen(privileges.logs);
      privileges.reopened();
    });
  }

  /**
   * Stops workers and closes resources, after which the process may exit. A second, faster stop overtakes a graceful one.
   * `isReplaced`: another master serves on the same sockets.
   */
  stop({ graceful, isReplaced = false }: { graceful: boolean; isReplaced?: boolean }): Promise<void> {
    if (!graceful) this.#hurry.abort();
    this.#isReplaced ||= isReplaced;
    this.#stopping ??= this.#end(graceful);
    if (!graceful) void this.#workers.stop({ graceful: false });
    return this.#stopping;
  }

  async #end(graceful: boolean): Promise<void> {
    this.#options.log.write('notice', graceful ? 'gracefully shutting down' : 'exiting');
    if (!this.#isReplaced) this.#workers.announceStop();
    if (graceful && this.#serves && !this.#isReplaced) await this.#leaveTimeToNotice();
    this.#options.privileges.leave({ isReplaced: this.#isReplaced });
    await this.#workers.stop({ graceful, isReplaced: this.#isReplaced });
    // A running start or reload finds no workers and ends.
    await this.#busy;
    await this.#resources?.close();
    await this.#options.privileges.ended(this.#serves && !this.#isReplaced ? this.#plan : undefined);
    this.#options.log.write('notice', 'exit');
  }

  /** Waits for `shutdown_delay`: load balancers send requests until a probe fails, and they probe at intervals. */
  async #leaveTimeToNotice(): Promise<void> {
    const { shutdownDelayMs } = this.#plan.main.core;
    await delay(shutdownDelayMs, undefined, { signal: this.#hurry.signal }).catch(() => undefined);
  }

  async #start(candidate: AcceptedCandidate): Promise<void> {
    const { privileges, log, onReady } = this.#options;
    setHeadLimit(this.#plan);
    await privileges.probe(this.#plan.ports);
    const { shipment, resources } = await this.#ship(candidate);
    this.#resources = resources;
    this.#commitZones(shipment.zones);
    await privileges.settle(candidate);
    // The account may have access to a log that root would not open.
    log.reopen();
    if (isUpgrade()) await restoreState(this.#zones.of(this.#plan.zones), log);
    await this.#workers.start({ ...shipment, logs: privileges.logs });
    this.#serves = true;
    await privileges.serving(candidate);
    this.#metrics.loaded(true);
    // Must precede the log line: a master that dies before its supervisor knows that it serves is not restarted.
    onReady(pidFileOf(this.#plan));
    if (!this.#stopping) log.write('notice', `start worker processes: ${this.#plan.main.workers}`);
    this.#tellExpired();
    void this.#tellFindings(candidate.tellsFindings);
  }

  async #tryReload(): Promise<string | undefined> {
    const { privileges, show, log } = this.#options;
    const candidate = await privileges.load();
    const { plan, faults } = candidate;
    show(faults);
    this.#metrics.found(faults);
    this.#memory.loaded();
    if (!plan) return 'the configuration has errors';
    const before = this.#plan;
    const known = new Set(before.ports.map(({ address }) => addressText(address)));
    await privileges.probe(plan.ports.filter(({ address }) => !known.has(addressText(address))));
    const { shipment, resources } = await this.#ship({ ...candidate, plan });
    const refusal = await this.#workers.reload(shipment);
    if (refusal !== undefined) {
      await resources.close();
      return refusal;
    }
    this.#plan = plan;
    this.#commitZones(shipment.zones);
    log.use(plan.main.core.errorLogs);
    log.reopen();
    this.#tellLimits(before);
    // The gateway already serves, even if the pid file cannot be written.
    await privileges
      .replaced(before, { ...candidate, plan })
      .catch((error: unknown) => log.write('alert', (error as Error).message));
    await this.#resources?.close();
    this.#resources = resources;
    this.#tellExpired();
    void this.#tellFindings(candidate.tellsFindings);
    return undefined;
  }

  /** Logs what nobody should have to look for: clients refuse to connect. */
  #tellExpired(): void {
    for (const line of expiredCertificates(this.#plan, Date.now())) this.#options.log.write('error', line);
  }

  /** Logs the findings of `gw check` if the log level includes them. Requests are served meanwhile. */
  async #tellFindings(tellsFindings: boolean): Promise<void> {
    const { log, privileges } = this.#options;
    // The findings of the previous configuration are obsolete.
    this.#judging.abort();
    if (!tellsFindings || !log.takes('warn')) return;
    const judging = new AbortController();
    this.#judging = judging;
    const signal = AbortSignal.any([this.#hurry.signal, judging.signal]);
    const lines = await privileges.findings(signal).catch((error: unknown) => [String(error)]);
    if (signal.aborted || this.#stopping) return;
    this.#memory.threadEnded();
    for (const line of lines) log.write('warn', line);
  }

  /** Commits the zones. From then on, log lines of this thread also go to the log tail. */
  #commitZones(zones: Shipment['zones']): void {
    this.#zones.commit(zones);
    this.#leaveTail?.();
    const buffer = zones.get(LOG_TAIL.name);
    const tail = buffer && openRing(buffer, MASTER_THREAD);
    this.#leaveTail =
      tail && this.#options.log.listeners.add((level, text) => keepErrorLine(tail, level, text));
  }

  #tellLimits(before: GatewayPlan): void {
    const { log } = this.#options;
    if (headLimitOf(this.#plan) > headLimitOf(before))
      log.write('warn', 'larger "large_client_header_buffers" take effect after a restart');
    if (userOf(this.#plan) !== userOf(before))
      log.write('warn', 'another "user" takes effect after a restart');
  }

  /** Opens the resources of the process for a plan, and packs the shipment for the workers. */
  async #ship({ plan, text }: AcceptedCandidate): Promise<{ shipment: Shipment; resources: OwnedResources }> {
    const { account, log } = this.#options;
    const resources = new OwnedResources({ shared: this.#shared, log, prefix: plan.main.prefix });
    const provided = new Map<string, unknown>();
    // The text comes from the whole tree, which the resources would otherwise keep in memory.
    let textOf: typeof text | undefined = text;
    const configText = (): ConfigText => {
      if (!textOf) throw new Error('the text of a configuration is only there while it is prepared');
      return textOf();
    };
    try {
      await prepare(
        plan,
        Object.assign(resources, {
          provide: (key: string, value: unknown) => void provided.set(key, value),
          configText,
          account,
          isUpgrade: isUpgrade() && !this.#serves,
          upstream: (name: string) => serversOfBlock(plan.upstreams, name),
        }),
      );
    } catch (error) {
      await resources.close();
      throw error;
    } finally {
      textOf = undefined;
    }
    const zones = this.#zones.plan(plan.zones);
    const counters = this.#metrics.memoryFor(largestIdOf(plan.main.workers));
    const { logs } = this.#options.privileges;
    return { shipment: { generation: ++this.#generation, plan, zones, counters, logs, provided }, resources };
  }
}

/**
 * Sets the limit for request heads in uWebSockets.js, which reads it from the environment once, when the first worker
 * loads it.
 */
function setHeadLimit(plan: GatewayPlan): void {
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(headLimitOf(plan));
}

function userOf({ main }: GatewayPlan): string {
  const { name, group } = main.core.user ?? { name: 'nobody' };
  return JSON.stringify([name, group]);
}

function headLimitOf({ ports }: GatewayPlan): number {
  return Math.max(...ports.map(({ headLimits }) => headLimits.bytes), 4096) + 1024;
}
