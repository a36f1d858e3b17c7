import { createPrivateKey } from 'node:crypto';
import { chainFault, readChain } from '../certificates/index.ts';
import { type AcmeCertificate, certificateId } from '../plan.ts';
import type { CertificatePair } from '../shared-certificates.ts';
import type { KeptFacts } from './certificate-facts.ts';
import type { KeptCertificate, OrderRecord } from './issuer-state.ts';
import {
  type Attempts,
  Haste,
  isUrgent,
  NO_ATTEMPTS,
  nextOrderMs,
  type OrderPause,
  renewalMs,
  type RenewalWindow,
} from './schedule.ts';

type ChainFacts = Awaited<ReturnType<typeof readChain>>;

/** A certificate in the hands of the worker that holds the seat. */
export class KeptEntry {
  readonly certificate: AcmeCertificate;
  readonly id: string;
  /** It is ordered when a client asks for its name, and renewed as long as that succeeds. */
  readonly isOnDemand: boolean;
  /** The directory of the authority that issued the certificate. */
  authority: string | undefined;
  attempts: Attempts = NO_ATTEMPTS;
  window: RenewalWindow | undefined;
  order: OrderRecord | undefined;
  /** What is known of the certificate that serves. */
  facts: ChainFacts | undefined;
  /** The certificate, if the shared memory has no room for it. */
  unshared: CertificatePair | undefined;
  /** The certificate that another gateway has told last, until it is looked at. */
  told: CertificatePair | undefined;
  /** Until then, another gateway may be ordering it. */
  heldUntilMs = 0;
  isBusy = false;
  /** By a clock that is never set. */
  #overSinceMs: number | undefined;
  readonly #haste = new Haste();

  constructor(certificate: AcmeCertificate, isOnDemand: boolean) {
    this.certificate = certificate;
    this.id = certificateId(certificate);
    this.isOnDemand = isOnDemand;
  }

  /** Takes over what was stored. */
  restore({ authority, attempts, window, order }: Omit<KeptCertificate, 'pair'>): void {
    Object.assign(this, { authority, attempts, window, order });
  }

  /** Has it ordered anew, whatever is known of it and of former orders. */
  want(): void {
    this.attempts = { ...NO_ATTEMPTS, isWanted: true };
  }

  /** Forgets the troubles of former orders: there is a certificate. */
  settle(facts: ChainFacts): void {
    this.facts = facts;
    this.attempts = NO_ATTEMPTS;
    this.window = undefined;
    this.order = undefined;
    this.heldUntilMs = 0;
    this.#haste.took(facts, Date.now());
  }

  /** When the next order is due, in ms since the epoch; infinite: when a client asks. */
  nextMs(nowMs: number, renewBeforeMs: number | undefined): number {
    if (!this.facts && this.isOnDemand) return Infinity;
    const renewsMs = this.order ? 0 : this.#renewsMs(nowMs, renewBeforeMs);
    // A clock that was set back must not hold it for longer than others may order it.
    const heldMs = this.heldUntilMs > nowMs + MOST_HELD_MS ? 0 : this.heldUntilMs;
    return Math.max(nextOrderMs(this.attempts, renewsMs, nowMs), heldMs);
  }

  #renewsMs(nowMs: number, renewBeforeMs: number | undefined): number | undefined {
    if (!this.facts) return undefined;
    const { window } = this;
    const told = window?.certificate === this.facts.certificateId ? window?.chosen : undefined;
    const renewsMs = renewalMs(this.facts, { renewBeforeMs, window: told });
    return Math.max(renewsMs, this.#haste.notBeforeMs(this.facts, nowMs));
  }

  isValid(nowMs: number): boolean {
    return this.facts !== undefined && this.facts.notBeforeMs <= nowMs && this.facts.notAfterMs > nowMs;
  }

  /** For how long the certificate has ended: so much time has passed, even if the clock has jumped. */
  overForMs(nowMs: number): number {
    if (!this.facts || this.facts.notAfterMs > nowMs) this.#overSinceMs = undefined;
    else this.#overSinceMs ??= performance.now();
    return performance.now() - (this.#overSinceMs ?? performance.now());
  }

  isUrgent(nowMs: number): boolean {
    return isUrgent(this.facts?.notAfterMs, nowMs);
  }

  /** `pause`: until then, the authority is asked for nothing new. */
  shown(nowMs: number, renewBeforeMs: number | undefined, pause?: OrderPause): KeptFacts {
    const { notAfterMs } = this.facts ?? {};
    const state = notAfterMs === undefined ? 'missing' : notAfterMs > nowMs ? 'valid' : 'expired';
    const dueMs = this.nextMs(nowMs, renewBeforeMs);
    const waits = pause !== undefined && !this.order && dueMs < pause.untilMs;
    const nextMs = waits ? pause.untilMs : dueMs;
    const { failures, fault } = this.attempts;
    const shownFault = failures > 0 ? fault : waits && dueMs <= nowMs ? pause.fault : undefined;
    return {
      name: this.id,
      issuer: this.certificate.issuer,
      state,
      isOrdered: this.isBusy,
      isOnDemand: this.isOnDemand,
      ...(notAfterMs !== undefined && { notAfterMs }),
      nextMs: Number.isFinite(nextMs) ? nextMs : 0,
      failures,
      ...(shownFault !== undefined && { fault: shownFault }),
    };
  }
}

/** Longest time for which another gateway orders a certificate. */
const MOST_HELD_MS = 600_000;

/** What was found about a pair. */
type Examined = { readonly facts: ChainFacts } | { readonly fault: string };

/**
 * Looks at a pair that may come to serve. `at`: `now` for one that is new, where a certificate that is valid later is taken
 * (the clock may be wrong, and only this machine's is); `any time` for one that has served before.
 */
export async function examine(
  { chain: pem, key: keyPem }: CertificatePair,
  { identifiers }: Pick<AcmeCertificate, 'identifiers'>,
  at: 'now' | 'any time',
): Promise<Examined> {
  try {
    const facts = await readChain(pem);
    const key = createPrivateKey(keyPem);
    const nowMs = at === 'now' ? Math.max(Date.now(), facts.notBeforeMs) : facts.notBeforeMs;
    const fault = await chainFault({ pem, key, identifiers, nowMs });
    return fault === undefined ? { facts } : { fault };
  } catch (error) {
    return { fault: (error as Error).message };
  }
}

/** Returns the pair that ends last, of those that may serve; else why the first one may not; `undefined`: there is none. */
export async function newest(
  pairs: readonly (CertificatePair | undefined)[],
  certificate: Pick<AcmeCertificate, 'identifiers'>,
): Promise<({ readonly pair: CertificatePair } & Examined) | undefined> {
  let found: ({ readonly pair: CertificatePair } & Examined) | undefined;
  for (const pair of pairs) {
    if (!pair || pair.chain === found?.pair.chain) continue;
    const examined = { pair, ...(await examine(pair, certificate, 'any time')) };
    if (!found || endOf(examined) > endOf(found)) found = examined;
  }
  return found;
}

/** 0: it may not serve. */
function endOf(examined: Examined): number {
  return 'facts' in examined ? examined.facts.notAfterMs : 0;
}
