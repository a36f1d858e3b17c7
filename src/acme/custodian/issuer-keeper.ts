import type { ErrorLog } from '../../log/index.ts';
import type { AcmeCertificate, AcmeIssuer, OnDemandRules } from '../plan.ts';
import { AcmeFault } from '../protocol/index.ts';
import { type CertificatePair, type SharedCertificates, SharedMemoryFault } from '../shared-certificates.ts';
import { openSession, SessionFault } from './account.ts';
import type { KeptFacts } from './certificate-facts.ts';
import { type FaultLines, shownTime } from './fault-lines.ts';
import type { IssuerState } from './issuer-state.ts';
import { examine, KeptEntry, newest } from './kept-entry.ts';
import { storedOnDemand } from './on-demand.ts';
import { obtain, type Session } from './order.ts';
import { OrderPauses } from './order-pause.ts';
import { type Companions, OrderTurns } from './order-turns.ts';
import type { ProofStore } from './proofs.ts';
import type { StateLock } from './state-lock.ts';
import { takeRequests } from './operator-requests.ts';
import { causeOf, pollWindow } from './renewal-polls.ts';
import { afterFailure, isPollDue } from './schedule.ts';

/** How an order ended, in metrics. */
type OrderResult = 'issued' | 'failed' | 'refused';

interface KeeperParts {
  readonly issuer: AcmeIssuer;
  readonly certificates: readonly AcmeCertificate[];
  readonly onDemand: readonly OnDemandRules[];
  readonly state: IssuerState;
  /** Absent: nothing is written. */
  readonly lock: StateLock | undefined;
  readonly shared: SharedCertificates;
  readonly store: ProofStore;
  readonly log: ErrorLog;
  readonly lines: FaultLines;
  readonly count: (result: OrderResult) => void;
  readonly texts: (name: string) => Promise<readonly string[]>;
  readonly companions?: Companions | undefined;
}

/** Orders of one issuer at the same time. */
const MOST_ORDERS = 5;
const MOST_POLLS = 2;
/** Certificates that are read from disk at the same time. */
const MOST_READ = 16;
const REQUESTS_MS = 2_000;
const RETRY_MS = 60_000;
/** How long it is remembered that a certificate on demand could not be had. */
const FORGOTTEN_MS = 86_400_000;
/** How long the order of another gateway is waited for before it is asked again. */
const HELD_MS = 15_000;
/** By so much the clocks of this machine and of an authority may differ. */
const MOST_SKEW_MS = 86_400_000;
/** A certificate on demand has ended for so long, whatever the clock says, before it is forgotten. */
const OVER_MS = 86_400_000;

/** The certificates of one issuer, in the worker that holds the seat. */
export class IssuerKeeper {
  readonly #parts: KeeperParts;
  readonly #entries = new Map<string, KeptEntry>();
  readonly #ending = new AbortController();
  readonly #working = new Set<Promise<void>>();
  readonly #pauses: OrderPauses;
  readonly #turns: OrderTurns;
  readonly #doneRequests = new Set<string>();
  #session: Promise<Session> | undefined;
  #orders = 0;
  #polls = 0;
  #isLooking = false;
  #requestsMs = -Infinity;
  #retriedMs = -Infinity;
  /** False while another process writes the state. */
  #isReady = false;
  #readMs = -Infinity;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
    this.#pauses = new OrderPauses({ state: parts.state, authority: parts.issuer.uri });
    const { companions, log } = parts;
    this.#turns = new OrderTurns({ issuer: parts.issuer.name, companions, log });
    for (const certificate of parts.certificates) {
      const entry = new KeptEntry(certificate, false);
      this.#entries.set(entry.id, entry);
    }
  }

  get issuer(): AcmeIssuer {
    return this.#parts.issuer;
  }

  entry(id: string): KeptEntry | undefined {
    return this.#entries.get(id);
  }

  /** How many certificates on demand there are. */
  get demanded(): number {
    return [...this.#entries.values()].filter(({ isOnDemand, facts }) => isOnDemand && facts).length;
  }

  facts(nowMs: number): readonly KeptFacts[] {
    const pause = this.#pauses.at(nowMs);
    return [...this.#entries.values()].map((entry) => entry.shown(nowMs, this.issuer.renewBeforeMs, pause));
  }

  /** False while another process writes the state: until it ends, what is stored serves. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Reads what is stored, and lets it serve. */
  async open(): Promise<void> {
    const { state, onDemand, lock } = this.#parts;
    this.#readMs = Date.now();
    const mayWrite = lock?.isHeld ?? true;
    await this.#pauses.restore();
    if (onDemand.length > 0)
      for (const id of await state.ids()) if (!this.#entries.has(id)) await this.#addStored(id);
    const waiting = [...this.#entries.values()];
    const readAll = async (): Promise<void> => {
      for (let entry = waiting.shift(); entry; entry = waiting.shift()) await this.#restore(entry);
    };
    await Promise.all(Array.from({ length: MOST_READ }, readAll));
    this.#isReady = mayWrite;
  }

  /** Another process writes the state: its certificates serve here, too. */
  #await(nowMs: number): void {
    const isTime = this.#parts.lock?.isHeld === true || Math.abs(nowMs - this.#readMs) >= RETRY_MS;
    if (isTime && this.#working.size === 0) this.#run(this.open());
  }

  #run(act: Promise<void>): void {
    const work = act.finally(() => this.#working.delete(work));
    this.#working.add(work);
  }

  async #addStored(id: string): Promise<void> {
    const { state, onDemand } = this.#parts;
    const entry = await storedOnDemand(id, { issuer: this.issuer.name, state, rules: onDemand });
    if (entry) this.#entries.set(id, entry);
  }

  async #restore(entry: KeptEntry): Promise<void> {
    const { state, shared } = this.#parts;
    const kept = await state.certificate(entry.id);
    entry.restore(kept);
    if (kept.authority !== undefined && kept.authority !== this.issuer.uri) await this.#leave(entry);
    const served = shared.certificate(entry.id);
    const found = await newest([kept.pair, served], entry.certificate);
    if (!found) return;
    if ('fault' in found) return this.#log('error', entry, `the stored one cannot serve: ${found.fault}`);
    const { pair, facts } = found;
    entry.facts = facts;
    if (facts.notAfterMs <= Date.now())
      this.#log('error', entry, `it expired at ${shownTime(facts.notAfterMs)}`);
    if (pair === kept.pair) this.#share(entry, pair);
    else if (this.#parts.lock?.isHeld ?? true) await this.#saveServed(entry, pair);
  }

  /** Another worker has died, or another configuration has retired, before it could write what serves: the disk was full, say. */
  async #saveServed(entry: KeptEntry, pair: CertificatePair): Promise<void> {
    const { state } = this.#parts;
    if (entry.facts && (entry.authority ?? this.issuer.uri) === this.issuer.uri) {
      entry.settle(entry.facts);
      entry.authority = this.issuer.uri;
      await state.saveRecord(entry.id, entry);
    }
    await state.savePair(entry.id, pair);
  }

  /** The issuer has moved to another authority, from a staging one to the real one say: the certificate serves meanwhile. */
  async #leave(entry: KeptEntry): Promise<void> {
    this.#log('notice', entry, `it comes from ${entry.authority}, and is ordered anew`);
    entry.want();
    entry.window = undefined;
    await this.#forgetOrder(entry);
  }

  /** Begins what is due. To be called some times in a second. */
  tick(nowMs: number): void {
    if (!this.#isReady) return this.#await(nowMs);
    this.#look(nowMs);
    const { renewBeforeMs } = this.issuer;
    for (const entry of this.#entries.values())
      if (entry.told && !entry.isBusy) void this.#begin(entry, () => this.#adoptTold(entry));
    const isPaused = this.#pauses.at(nowMs) !== undefined;
    const due = [...this.#entries.values()]
      .filter((entry) => !entry.isBusy && entry.nextMs(nowMs, renewBeforeMs) <= nowMs)
      .filter(({ order }) => !isPaused || order)
      .toSorted((one, other) => (one.facts?.notAfterMs ?? 0) - (other.facts?.notAfterMs ?? 0));
    for (const entry of due.slice(0, Math.max(0, this.#pauses.most(MOST_ORDERS) - this.#orders)))
      void this.#begin(entry, () => this.#order(entry));
    if (due.length === 0) this.#pollOne(nowMs);
  }

  /** Orders a certificate for a client that waits. Resolves with whether there is one now. */
  async demand(certificate: AcmeCertificate): Promise<boolean> {
    const fresh = new KeptEntry(certificate, true);
    const entry = this.#entries.get(fresh.id) ?? fresh;
    this.#entries.set(entry.id, entry);
    const nowMs = Date.now();
    const hasFailed = entry.attempts.failures > 0 && entry.nextMs(nowMs, undefined) > nowMs;
    const isPaused = hasFailed || this.#pauses.at(nowMs) !== undefined;
    if (!entry.facts && !entry.isBusy && !isPaused) await this.#begin(entry, () => this.#order(entry));
    return entry.facts !== undefined;
  }

  /** Soon takes over a certificate that another gateway has ordered, if it is newer and may serve. */
  adopt(id: string, pair: CertificatePair): void {
    const entry = this.#entries.get(id);
    if (entry) entry.told = pair;
  }

  async #adoptTold(entry: KeptEntry): Promise<void> {
    const { told } = entry;
    entry.told = undefined;
    if (told) await this.#adopted(entry, told);
  }

  async #adopted(entry: KeptEntry, pair: CertificatePair): Promise<boolean> {
    const examined = await examine(pair, entry.certificate, 'now');
    if ('fault' in examined) {
      this.#log('warn', entry, `the one of another gateway cannot serve: ${examined.fault}`);
      return false;
    }
    const { notAfterMs } = examined.facts;
    if (notAfterMs <= (entry.facts?.notAfterMs ?? 0)) return false;
    await this.#store(entry, pair, examined.facts);
    this.#log('notice', entry, `taken over from another gateway, valid until ${shownTime(notAfterMs)}`);
    return true;
  }

  /** Breaks off what goes on. Orders are resumed by whoever takes the seat. */
  async close(): Promise<void> {
    this.#ending.abort();
    await Promise.allSettled(this.#working);
  }

  #begin(entry: KeptEntry, act: () => Promise<void>): Promise<void> {
    entry.isBusy = true;
    this.#orders += 1;
    const work = act().finally(() => {
      entry.isBusy = false;
      this.#orders -= 1;
      this.#working.delete(work);
    });
    this.#working.add(work);
    return work;
  }

  async #order(entry: KeptEntry): Promise<void> {
    try {
      if (!(await this.#mayOrder(entry)) || (await this.#isOrdered(entry))) return;
      const pair = await this.#obtained(entry);
      await this.#take(entry, pair);
      this.#parts.count('issued');
    } catch (error) {
      if (this.#ending.signal.aborted) return;
      await this.#endWith(error as Error, entry);
    } finally {
      this.#parts.companions?.unlock(this.issuer.name, entry.id);
    }
  }

  async #endWith(error: Error, entry: KeptEntry): Promise<void> {
    const cause = causeOf(error);
    const isLimited = cause?.kind === 'rateLimited';
    this.#parts.count(isLimited ? 'refused' : 'failed');
    await this.#failed(entry, error);
    const isSession = error instanceof SessionFault;
    if (isSession || cause?.kind === 'unreachable') await this.#failAll(error);
    if (isLimited && (isSession || !entry.order)) await this.#pause(cause, isSession);
  }

  /** Begins a pause, and tells until when the certificates that are due wait. */
  async #pause(fault: AcmeFault, isSession: boolean): Promise<void> {
    const { untilMs: nextMs } = await this.#pauses.begin(fault, isSession ? 'the account' : 'an order');
    const { issuer, lines } = this.#parts;
    const nowMs = Date.now();
    for (const entry of this.#entries.values())
      if (!entry.isBusy && !entry.order && entry.nextMs(nowMs, issuer.renewBeforeMs) <= nowMs)
        lines.tell({
          issuer: issuer.name,
          id: entry.id,
          fault: fault.message,
          nextMs,
          isUrgent: entry.isUrgent(nowMs),
        });
  }

  /** Returns whether another gateway has ordered it just before. */
  async #isOrdered(entry: KeptEntry): Promise<boolean> {
    const pair = this.#parts.companions?.newest(this.issuer.name, entry.id);
    return pair !== undefined && !entry.attempts.isWanted && (await this.#adopted(entry, pair));
  }

  /** Whether it is this gateway's turn to order a certificate. If not, it is asked again later. */
  async #mayOrder(entry: KeptEntry): Promise<boolean> {
    const nowMs = Date.now();
    if (await this.#turns.take({ id: entry.id, isUrgent: entry.isUrgent(nowMs) })) return true;
    entry.heldUntilMs = nowMs + HELD_MS;
    return false;
  }

  async #obtained(entry: KeptEntry, isAgain = false): Promise<CertificatePair> {
    const session = await this.#open();
    try {
      return await this.#obtain(entry, session);
    } catch (error) {
      const isLost = error instanceof AcmeFault && error.kind === 'accountDoesNotExist';
      if (!isLost || isAgain) throw error;
      this.#session = undefined;
      return this.#obtained(entry, true);
    }
  }

  #obtain(entry: KeptEntry, session: Session): Promise<CertificatePair> {
    const { issuer, state, store, texts } = this.#parts;
    const { certificate, id } = entry;
    return obtain({
      session,
      issuer,
      certificate,
      placed: entry.order,
      replaces: entry.facts?.certificateId,
      store,
      texts,
      signal: this.#ending.signal,
      warn: (message) => this.#log('warn', entry, message),
      save: async (order) => {
        entry.order = order;
        await state.saveOrder(id, order);
        await this.#pauses.end();
      },
      forget: () => this.#forgetOrder(entry),
    });
  }

  async #forgetOrder(entry: KeptEntry): Promise<void> {
    entry.order = undefined;
    await this.#parts.state.forgetOrder(entry.id);
  }

  /** Lets a new certificate serve, if it may. */
  async #take(entry: KeptEntry, pair: CertificatePair): Promise<void> {
    const examined = await examine(pair, entry.certificate, 'now');
    if ('fault' in examined) {
      await this.#forgetOrder(entry);
      throw new Error(`the authority has sent a chain that cannot serve: ${examined.fault}`);
    }
    const { facts } = examined;
    if (facts.notBeforeMs > Date.now() + MOST_SKEW_MS && entry.isValid(Date.now())) {
      await this.#forgetOrder(entry);
      throw new Error(
        `the authority has sent a chain that cannot serve: it is not valid before ${shownTime(facts.notBeforeMs)}, and the present one is valid now, or the clock of this machine is wrong`,
      );
    }
    await this.#store(entry, pair, facts);
    this.#parts.companions?.publish(this.issuer.name, entry.id, pair);
    const nextMs = entry.nextMs(Date.now(), this.issuer.renewBeforeMs);
    this.#log(
      'notice',
      entry,
      `issued, valid until ${shownTime(facts.notAfterMs)}; next order at ${shownTime(nextMs)}`,
    );
    if (facts.notBeforeMs > Date.now())
      this.#log(
        'warn',
        entry,
        `it is not valid before ${shownTime(facts.notBeforeMs)}: the clock of this machine may be wrong`,
      );
  }

  /** What is remembered is written first: killed in between, the order is still there, and gives the certificate. */
  async #store(
    entry: KeptEntry,
    pair: CertificatePair,
    facts: NonNullable<KeptEntry['facts']>,
  ): Promise<void> {
    const { state } = this.#parts;
    entry.settle(facts);
    entry.authority = this.issuer.uri;
    this.#turns.settle(entry.id);
    await state.saveRecord(entry.id, entry);
    await state.savePair(entry.id, pair);
    this.#share(entry, pair);
  }

  #share(entry: KeptEntry, pair: CertificatePair): void {
    try {
      this.#parts.shared.putCertificate(entry.id, pair);
      entry.unshared = undefined;
    } catch (error) {
      if (!(error instanceof SharedMemoryFault)) throw error;
      if (!entry.unshared) this.#log('error', entry, `it cannot serve: ${error.message}`);
      entry.unshared = pair;
    }
  }

  async #failed(entry: KeptEntry, error: Error): Promise<void> {
    const nowMs = Date.now();
    const { message: fault } = error;
    const waitMs = causeOf(error)?.retryAfterMs;
    entry.attempts = afterFailure(entry.attempts, { fault, waitMs, nowMs });
    const { issuer, lines, state } = this.#parts;
    const nextMs = entry.isOnDemand && !entry.facts ? nowMs : entry.nextMs(nowMs, issuer.renewBeforeMs);
    lines.tell({ issuer: issuer.name, id: entry.id, fault, nextMs, isUrgent: entry.isUrgent(nowMs) });
    if (entry.isOnDemand && !entry.facts) return;
    await state.saveRecord(entry.id, entry);
  }

  /** An authority that cannot be reached, or refuses the account, is not asked once for each certificate. */
  async #failAll(error: Error): Promise<void> {
    const nowMs = Date.now();
    for (const entry of this.#entries.values())
      if (!entry.isBusy && entry.nextMs(nowMs, this.issuer.renewBeforeMs) <= nowMs)
        await this.#failed(entry, error);
  }

  #open(): Promise<Session> {
    const { issuer, state, log } = this.#parts;
    this.#session ??= openSession({ issuer, state, log, signal: this.#ending.signal }).catch(
      (error: unknown) => {
        this.#session = undefined;
        throw error;
      },
    );
    return this.#session;
  }

  /** Asks the authority when one of the certificates is to be renewed. */
  #pollOne(nowMs: number): void {
    if (this.issuer.renewBeforeMs !== undefined || this.#polls >= MOST_POLLS) return;
    // A pause may be one of the account, which would have to be opened.
    if (!this.#session && this.#pauses.at(nowMs)) return;
    const entry = [...this.#entries.values()].find(
      ({ facts, window, isBusy }) =>
        !isBusy && facts?.certificateId !== undefined && isPollDue(window, facts.certificateId, nowMs),
    );
    const certificate = entry?.facts?.certificateId;
    if (!entry || certificate === undefined) return;
    this.#polls += 1;
    void this.#begin(entry, () => this.#poll(entry, certificate)).finally(() => (this.#polls -= 1));
  }

  async #poll(entry: KeptEntry, certificate: string): Promise<void> {
    const { window: before } = entry;
    const { window, fault, moved } = await pollWindow({ open: () => this.#open(), before, certificate });
    if (this.#ending.signal.aborted) return;
    entry.window = window;
    if (fault !== undefined) this.#log('info', entry, `its renewal window could not be asked for: ${fault}`);
    if (moved !== undefined)
      this.#log('notice', entry, `the authority wants it renewed now${moved === '' ? '' : ` (${moved})`}`);
    await this.#parts.state.saveRecord(entry.id, entry);
  }

  /** Looks at the requests of operators, and tries again what could not be stored or shared. */
  #look(nowMs: number): void {
    if (this.#isLooking) return;
    const isAgain = Math.abs(nowMs - this.#retriedMs) >= RETRY_MS;
    const isAsked = Math.abs(nowMs - this.#requestsMs) >= REQUESTS_MS;
    if (!isAgain && !isAsked) return;
    if (isAgain) this.#retriedMs = nowMs;
    this.#requestsMs = nowMs;
    this.#isLooking = true;
    this.#run(this.#lookAt(isAgain).finally(() => (this.#isLooking = false)));
  }

  async #lookAt(isAgain: boolean): Promise<void> {
    const { state } = this.#parts;
    await takeRequests({
      state,
      done: this.#doneRequests,
      entry: (id) => this.#entries.get(id),
      tell: (entry, message) => this.#log('notice', entry, message),
      unknown: (id) =>
        this.#parts.log.write('warn', `issuer "${this.issuer.name}" has no certificate "${id}" to renew`),
    });
    if (!isAgain) return;
    await state.retry();
    this.#dropUnwanted(Date.now());
    for (const entry of this.#entries.values()) if (entry.unshared) this.#share(entry, entry.unshared);
  }

  /** Forgets certificates on demand that have ended, or never were. A clock that jumps ends none. */
  #dropUnwanted(nowMs: number): void {
    for (const entry of this.#entries.values()) {
      const { isOnDemand, facts, isBusy, attempts } = entry;
      if (!isOnDemand || isBusy) continue;
      const isKept = facts ? entry.overForMs(nowMs) < OVER_MS : attempts.failedMs + FORGOTTEN_MS > nowMs;
      if (isKept) continue;
      this.#entries.delete(entry.id);
      this.#parts.shared.dropCertificate(entry.id);
      void this.#parts.state.forget(entry.id);
    }
  }

  #log(level: 'info' | 'notice' | 'warn' | 'error', { id }: KeptEntry, message: string): void {
    this.#parts.log.write(level, `certificate "${id}" of issuer "${this.issuer.name}": ${message}`);
  }
}
