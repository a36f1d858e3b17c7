import { createPrivateKey } from 'node:crypto';
import type { ErrorLog } from '../../log/index.ts';
import {
  type Counters,
  type Metric,
  type Seat,
  SharedText,
  type SharedTextDeclaration,
} from '../../zone/index.ts';
import { fitsKey } from '../certificates/index.ts';
import { type AcmeCertificate, type AcmeIssuer, type AcmePlan, certificateId } from '../plan.ts';
import type { CertificatePair, SharedCertificates } from '../shared-certificates.ts';
import { SparseLines } from '../sparse-lines.ts';
import { FactsRecord, type KeptFacts } from './certificate-facts.ts';
import { FaultLines } from './fault-lines.ts';
import { IssuerKeeper } from './issuer-keeper.ts';
import { IssuerState } from './issuer-state.ts';
import { OnDemandLimits } from './on-demand.ts';
import type { Companions } from './order-turns.ts';
import type { ProofStore } from './proofs.ts';
import { StateFiles } from './state-files.ts';
import { StateLock } from './state-lock.ts';

type DemandOutcome = Parameters<SharedCertificates['answer']>[1];

/** Of the custodians that a worker has open, only the latest may work. One object for all of them. */
export interface CustodianTurn {
  latest?: Custodian;
}

/** What other gateways of a cluster have a part in. */
export interface Alliance extends Companions {
  readonly store: ProofStore;
  /** Calls `adopt` for the certificates of other gateways. Returns the function that ends this. */
  follow(adopt: (issuer: string, id: string, pair: CertificatePair) => void): () => void;
}

interface CustodianParts {
  readonly plan: AcmePlan;
  readonly shared: SharedCertificates;
  /** The memory that `custodianZone` declares. */
  readonly memory: SharedArrayBuffer;
  readonly turn: CustodianTurn;
  readonly workerId: number;
  readonly log: ErrorLog;
  readonly metrics: Counters;
  /** Looks up the TXT records of a name. */
  readonly texts: (name: string) => Promise<readonly string[]>;
  readonly alliance?: Alliance | undefined;
}

/** A configuration that uses the custodian. */
interface Served {
  onServing(listener: () => void): void;
  readonly retiring: AbortSignal;
}

const LOOK_MS = 250;
/** How long the worker with the seat may be silent before another one takes it. */
const SILENCE_MS = 5_000;
const TELL_MS = 1_000;
const FACTS_BYTES = 1_048_576;
const MOST_READ = 16;

const ORDERS: Metric = { name: 'gw_acme_orders_total', help: 'Orders of certificates, by how they ended.' };

/** Declares the shared memory for the seat and the facts. Its size never changes: two memories would have two seats. */
export function custodianZone(): SharedTextDeclaration {
  return { name: 'acme custodian', kind: 'shared text', bytes: FACTS_BYTES };
}

/** Opens the custodian of a plan in this worker. */
export function openCustodian(parts: CustodianParts): Custodian {
  return new Custodian(parts);
}

/**
 * Who keeps certificates: reads what is stored, orders and renews. Every worker has one; the one with the seat works for
 * all, and another one goes on from the state on disk when it dies.
 */
export class Custodian {
  /** Resolves when what is stored serves. */
  readonly ready: Promise<void>;
  readonly #parts: CustodianParts;
  readonly #seat: Seat;
  readonly #record: FactsRecord;
  readonly #limits: OnDemandLimits;
  /** About what clients ask for. */
  readonly #asked: SparseLines;
  readonly #known = new WeakSet<Served>();
  readonly #users = new Set<Served>();
  #timer: NodeJS.Timeout | undefined;
  #keepers: readonly IssuerKeeper[] = [];
  #locks: readonly StateLock[] = [];
  #lines: FaultLines;
  #unfollow: (() => void) | undefined;
  #ending: Promise<void> | undefined;
  #isOpening = false;
  #isWorking = false;
  #toldMs = 0;

  constructor(parts: CustodianParts) {
    this.#parts = parts;
    const text = new SharedText(parts.memory, parts.workerId);
    this.#seat = text.seat(0);
    this.#record = new FactsRecord(text);
    this.#limits = new OnDemandLimits(parts.plan.onDemand);
    this.#asked = new SparseLines(parts.log);
    this.#lines = new FaultLines(parts.log);
    this.ready = this.#load();
  }

  /** What is known of all certificates, by their ids. */
  get facts(): ReadonlyMap<string, KeptFacts> {
    return this.#record.facts;
  }

  /**
   * Works from when a configuration serves until the last one that does retires. Returns false for a configuration that
   * it knows.
   */
  use(served: Served): boolean {
    if (this.#known.has(served)) return false;
    this.#known.add(served);
    served.onServing(() => {
      if (served.retiring.aborted) return;
      this.#users.add(served);
      void this.#compete();
    });
    served.retiring.addEventListener('abort', () => {
      this.#users.delete(served);
      if (this.#users.size === 0) void this.#yield();
    });
    return true;
  }

  async close(): Promise<void> {
    this.#users.clear();
    await this.#yield();
    if (this.#parts.turn.latest === this) delete this.#parts.turn.latest;
  }

  async #compete(): Promise<void> {
    const { turn } = this.#parts;
    const former = turn.latest;
    turn.latest = this;
    if (former && former !== this) await former.#yield();
    if (this.#timer || this.#users.size === 0 || turn.latest !== this) return;
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
    this.#look();
  }

  /** Breaks off what goes on and gives up the seat. Another worker, or the next configuration, resumes it. */
  async #yield(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#end();
    // The seat is that of the thread: a later custodian of it may hold it by now.
    const { latest } = this.#parts.turn;
    if (latest === undefined || latest === this || !latest.#isWorking) this.#seat.leave();
  }

  #look(): void {
    const holds = this.#seat.hold(SILENCE_MS);
    if (!holds) return void this.#end();
    const nowMs = Date.now();
    if (!this.#isWorking) return void this.#begin();
    if (this.#isOpening) return;
    // What it has written since is read anew.
    if (this.#locks.some(({ isLost }) => isLost)) return void this.#end();
    for (const keeper of this.#keepers) keeper.tick(nowMs);
    this.#answerAsked();
    this.#tell(nowMs);
  }

  async #begin(): Promise<void> {
    if (this.#ending) return;
    this.#isWorking = true;
    this.#isOpening = true;
    const { issuers } = this.#parts.plan;
    const roots = new Set(issuers.map(({ statePath }) => statePath).filter((path) => path !== undefined));
    const locks = new Map([...roots].map((root) => [root, this.#lockOf(root)] as const));
    const keepers = issuers.map((issuer) => this.#keeperOf(issuer, locks));
    this.#keepers = keepers;
    this.#locks = [...locks.values()];
    await Promise.all(this.#locks.map((lock) => lock.open()));
    await Promise.all(keepers.map((keeper) => keeper.open()));
    if (this.#keepers !== keepers) return;
    this.#isOpening = false;
    this.#unfollow = this.#parts.alliance?.follow((name, id, pair) => {
      keepers.find(({ issuer }) => issuer.name === name)?.adopt(id, pair);
    });
  }

  #end(): Promise<void> {
    if (!this.#isWorking) return this.#ending ?? Promise.resolve();
    this.#isWorking = false;
    this.#isOpening = false;
    this.#unfollow?.();
    this.#unfollow = undefined;
    const keepers = this.#keepers;
    const locks = this.#locks;
    this.#keepers = [];
    this.#locks = [];
    this.#ending = Promise.all(keepers.map((keeper) => keeper.close()))
      .then(() => Promise.all(locks.map((lock) => lock.close())))
      .then(() => {
        this.#lines.flush();
        this.#ending = undefined;
      });
    return this.#ending;
  }

  #keeperOf(issuer: AcmeIssuer, locks: ReadonlyMap<string, StateLock>): IssuerKeeper {
    const { plan, shared, log, metrics, texts, alliance } = this.#parts;
    const { name } = issuer;
    return new IssuerKeeper({
      issuer,
      certificates: certificatesOf(plan, name),
      onDemand: plan.onDemand.filter((rules) => rules.issuer === name),
      state: this.#stateOf(issuer, (message) => log.write('error', `issuer "${name}": ${message}`)),
      lock: locks.get(issuer.statePath ?? ''),
      shared,
      store: alliance?.store ?? proofsIn(shared),
      log,
      lines: this.#lines,
      count: (result) => metrics.counter(ORDERS, { issuer: name, result }).add(),
      texts,
      companions: alliance,
    });
  }

  #stateOf({ statePath: root, name }: AcmeIssuer, broken: (message: string) => void): IssuerState {
    const { workerId, log } = this.#parts;
    const files = new StateFiles({
      root,
      workerId,
      failed: (message) => log.write('error', `issuer "${name}": ${message}`),
      recovered: (message) => log.write('notice', `issuer "${name}": ${message}`),
    });
    return new IssuerState({ files, broken });
  }

  #lockOf(root: string): StateLock {
    const waits = (pid: number | undefined): void => {
      const who = pid === undefined ? 'another process' : `process ${pid}`;
      this.#parts.log.write(
        'notice',
        `${who} orders the certificates in "${root}"; those that are stored serve here, too`,
      );
    };
    return new StateLock({ root, waits });
  }

  /** Lets what is stored serve, as far as it does not yet. Whether it is broken is told by the worker with the seat. */
  async #load(): Promise<void> {
    const { plan, shared } = this.#parts;
    for (const issuer of plan.issuers) {
      const state = this.#stateOf(issuer, () => undefined);
      const ids = new Set(certificatesOf(plan, issuer.name).map(certificateId));
      if (plan.onDemand.some((rules) => rules.issuer === issuer.name))
        for (const id of await state.ids()) ids.add(id);
      const missing = [...ids].filter((id) => !shared.certificate(id));
      const readAll = async (): Promise<void> => {
        for (let id = missing.shift(); id !== undefined; id = missing.shift())
          await loadPair(id, state, shared);
      };
      await Promise.all(Array.from({ length: MOST_READ }, readAll));
    }
  }

  /** Orders what clients ask for, within the bounds of the configuration. */
  #answerAsked(): void {
    const { shared, plan } = this.#parts;
    if (plan.onDemand.length === 0) return;
    for (const certificate of shared.asked()) {
      const keeper = this.#keepers.find(({ issuer }) => issuer.name === certificate.issuer);
      const id = certificateId(certificate);
      if (keeper && (!keeper.isReady || keeper.entry(id)?.isBusy === true)) continue;
      const isThere = keeper?.entry(id)?.facts !== undefined;
      const refusal =
        keeper && (isThere ? undefined : this.#limits.refusal(certificate, keeper.demanded, Date.now()));
      if (!keeper || refusal !== undefined) {
        this.#asked.write('warn', `certificate "${id}" is not ordered on demand: ${refusal ?? 'no issuer'}`);
        this.#answer(certificate, 'refused');
      } else void this.#demand(keeper, certificate);
    }
  }

  async #demand(keeper: IssuerKeeper, certificate: AcmeCertificate): Promise<void> {
    const isThere = await keeper.demand(certificate);
    this.#answer(certificate, isThere ? 'issued' : 'failed');
  }

  /** Who waits gives up by himself, too. */
  #answer(certificate: AcmeCertificate, outcome: DemandOutcome): void {
    try {
      this.#parts.shared.answer(certificate, outcome);
    } catch (error) {
      this.#parts.log.write('error', (error as Error).message);
    }
  }

  #tell(nowMs: number): void {
    if (Math.abs(nowMs - this.#toldMs) < TELL_MS) return;
    this.#toldMs = nowMs;
    this.#record.tell(this.#keepers.flatMap((keeper) => keeper.facts(nowMs)));
  }
}

function certificatesOf({ certificates }: AcmePlan, name: string): readonly AcmeCertificate[] {
  return certificates.filter(({ issuer }) => issuer === name);
}

/** The challenges of a gateway that is not in a cluster. */
function proofsIn(shared: SharedCertificates): ProofStore {
  return {
    putToken: (token, keyAuthorization, ttlMs) => shared.putToken(token, keyAuthorization, ttlMs),
    dropToken: (token) => shared.dropToken(token),
    putChallengeCertificate: (name, pair, ttlMs) => shared.putChallengeCertificate(name, pair, ttlMs),
    dropChallengeCertificate: (name) => shared.dropChallengeCertificate(name),
    spread: () => Promise.resolve(),
  };
}

async function loadPair(id: string, state: IssuerState, shared: SharedCertificates): Promise<void> {
  try {
    const pair = await state.pair(id);
    if (pair && fitsKey(pair.chain, createPrivateKey(pair.key)) && !shared.certificate(id))
      shared.putCertificate(id, pair);
  } catch {
    // The worker with the seat finds the same, and tells it.
  }
}
