import type { ErrorLog } from '../../log/index.ts';

/** What went wrong with a certificate. */
interface CertificateFault {
  readonly issuer: string;
  /** The id of the certificate. */
  readonly id: string;
  /** Without the name of the certificate, if it concerns others as well. */
  readonly fault: string;
  /** When it is tried again, in ms since the epoch. */
  readonly nextMs: number;
  /** Nothing serves, or not for long. */
  readonly isUrgent: boolean;
}

interface Group {
  readonly first: CertificateFault;
  readonly ids: Set<string>;
  nextMs: number;
  isUrgent: boolean;
}

/** Faults of this time are one line, if they are equal. */
const TOGETHER_MS = 1_000;
/** Different faults that are kept apart; there are no more in a second unless something is very wrong. */
const MOST_GROUPS = 100;

/** Writes one line for what goes wrong with a certificate, and one with a count for equal faults of many. */
export class FaultLines {
  readonly #log: ErrorLog;
  readonly #groups = new Map<string, Group>();
  #timer: NodeJS.Timeout | undefined;

  constructor(log: ErrorLog) {
    this.#log = log;
  }

  tell(fault: CertificateFault): void {
    const key = JSON.stringify([fault.issuer, fault.fault]);
    const known = this.#groups.get(key);
    if (known) {
      known.ids.add(fault.id);
      known.nextMs = Math.min(known.nextMs, fault.nextMs);
      known.isUrgent ||= fault.isUrgent;
    } else {
      if (this.#groups.size >= MOST_GROUPS) this.flush();
      const { nextMs, isUrgent } = fault;
      this.#groups.set(key, { first: fault, ids: new Set([fault.id]), nextMs, isUrgent });
    }
    this.#timer ??= setTimeout(() => this.flush(), TOGETHER_MS).unref();
  }

  /** Writes what waits. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const group of this.#groups.values())
      this.#log.write(group.isUrgent ? 'error' : 'warn', lineOf(group));
    this.#groups.clear();
  }
}

function lineOf({ first: { issuer, id, fault }, ids, nextMs }: Group): string {
  const what = ids.size === 1 ? `certificate "${id}"` : `${ids.size} certificates, "${id}" among them,`;
  return `${what} of issuer "${issuer}": ${fault}; next try at ${shownTime(nextMs)}`;
}

/** A time in a message: `2026-11-29T20:00:00Z`. */
export function shownTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
