import type { ErrorLog } from '../../log/index.ts';
import type { CertificatePair } from '../shared-certificates.ts';

/** What keeps other gateways of a cluster from ordering the same certificate, and gives them what was ordered. */
export interface Companions {
  /** `unknown`: the store of the cluster cannot be asked. */
  lock(issuer: string, id: string): Promise<'ours' | 'others' | 'unknown'>;
  /** Ends the lock when the others have had time to hear of the certificate. */
  unlock(issuer: string, id: string): void;
  /** The certificate that one of the gateways has told last. */
  newest(issuer: string, id: string): CertificatePair | undefined;
  /** Tells the other gateways of a certificate. */
  publish(issuer: string, id: string, pair: CertificatePair): void;
}

interface OrderTurnsParts {
  readonly issuer: string;
  /** Absent: the gateway is in no cluster. */
  readonly companions: Pick<Companions, 'lock'> | undefined;
  readonly log: ErrorLog;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

/** A certificate that is due. */
interface DueCertificate {
  readonly id: string;
  /** Nothing serves, or not for long. */
  readonly isUrgent: boolean;
}

/** So long without the store of the cluster, a gateway orders what is urgent by itself. */
const ALONE_MS = 300_000;
/**
 * So long after a gateway was first kept from ordering a certificate, it orders it by itself if it is urgent: an order takes
 * less, so whoever still has the lock brings no certificate.
 */
const MOST_WAIT_MS = 3_600_000;

/** Which certificates this gateway may order: only one gateway of a cluster orders a certificate. */
export class OrderTurns {
  readonly #parts: OrderTurnsParts;
  readonly #clock: () => number;
  /** Since when the store of the cluster cannot be asked. */
  #aloneSinceMs: number | undefined;
  /** Since when others have kept this gateway from ordering a certificate, by its id. */
  readonly #waits = new Map<string, { readonly sinceMs: number; isTold: boolean }>();

  constructor(parts: OrderTurnsParts) {
    this.#parts = parts;
    this.#clock = parts.nowMs ?? (() => performance.now());
  }

  /** Takes the lock of a certificate. Resolves with whether it may be ordered here now. */
  async take({ id, isUrgent }: DueCertificate): Promise<boolean> {
    const { issuer, companions } = this.#parts;
    if (!companions) return true;
    const holder = await companions.lock(issuer, id);
    const nowMs = this.#clock();
    if (holder !== 'unknown') this.#aloneSinceMs = undefined;
    else this.#aloneSinceMs ??= nowMs;
    if (holder === 'ours') {
      this.#waits.delete(id);
      return true;
    }
    const isAlone = nowMs - (this.#aloneSinceMs ?? nowMs) >= ALONE_MS;
    // A lock that comes and goes with the store still keeps the certificate from being ordered.
    const hasWaited = this.#waitedMs(id, nowMs) >= MOST_WAIT_MS;
    if (hasWaited && isUrgent) this.#tell(id);
    return isUrgent && (hasWaited || isAlone);
  }

  /** There is a certificate: the next wait begins anew. */
  settle(id: string): void {
    this.#waits.delete(id);
  }

  #waitedMs(id: string, nowMs: number): number {
    const wait = this.#waits.get(id) ?? { sinceMs: nowMs, isTold: false };
    this.#waits.set(id, wait);
    return nowMs - wait.sinceMs;
  }

  /** One line for each wait. */
  #tell(id: string): void {
    const wait = this.#waits.get(id);
    if (!wait || wait.isTold) return;
    wait.isTold = true;
    const { issuer, log } = this.#parts;
    const minutes = MOST_WAIT_MS / 60_000;
    log.write(
      'warn',
      `certificate "${id}" of issuer "${issuer}": other gateways have kept its lock for ${minutes} minutes and brought none: it is ordered without the lock`,
    );
  }
}
