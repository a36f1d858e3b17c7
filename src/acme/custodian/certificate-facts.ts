import type { SharedText } from '../../zone/index.ts';

/** What is known of a certificate that is kept; times in ms since the epoch. */
export interface KeptFacts {
  /** Its id. */
  readonly name: string;
  readonly issuer: string;
  /** `missing`: nothing serves. */
  readonly state: 'valid' | 'expired' | 'missing';
  readonly isOrdered: boolean;
  readonly isOnDemand: boolean;
  readonly notAfterMs?: number | undefined;
  /** When the next order is due. */
  readonly nextMs: number;
  /** Orders that have failed since the last one that did not. */
  readonly failures: number;
  /** Why the last order failed. */
  readonly fault?: string | undefined;
}

/** Longest fault that is shown. */
const MOST_FAULT = 300;

/**
 * The facts that the worker with the seat tells all others, in shared memory. If there is no room for all, those of the
 * configuration stay, and of them those that need somebody soonest.
 */
export class FactsRecord {
  readonly #text: SharedText;
  #read: { readonly revision: number; readonly facts: ReadonlyMap<string, KeptFacts> } = {
    revision: 0,
    facts: new Map(),
  };
  /** What this thread has told last. */
  #told = '';

  constructor(text: SharedText) {
    this.#text = text;
  }

  /** By name. */
  get facts(): ReadonlyMap<string, KeptFacts> {
    if (this.#text.revision === this.#read.revision) return this.#read.facts;
    const found = this.#text.read();
    if (!found) return this.#read.facts;
    const facts = found.text === '' ? [] : (JSON.parse(found.text) as readonly KeptFacts[]);
    this.#read = { revision: found.revision, facts: new Map(facts.map((one) => [one.name, one])) };
    return this.#read.facts;
  }

  tell(all: readonly KeptFacts[]): void {
    const text = JSON.stringify(all.map(short));
    if (text === this.#told) return;
    this.#told = text;
    const needed = this.#text.change(() => text) === 'too long' ? all.toSorted(byNeed) : [];
    for (let count = needed.length / 2; count >= 1; count /= 2)
      if (this.#text.change(() => JSON.stringify(needed.slice(0, count).map(short))) !== 'too long') return;
  }
}

function short({ fault, ...facts }: KeptFacts): KeptFacts {
  return fault === undefined ? facts : { ...facts, fault: fault.slice(0, MOST_FAULT) };
}

function byNeed(one: KeptFacts, other: KeptFacts): number {
  return rankOf(one) - rankOf(other) || (one.notAfterMs ?? 0) - (other.notAfterMs ?? 0);
}

/** What clients ask for in vain must not hide what the configuration orders. */
function rankOf({ isOnDemand, notAfterMs }: KeptFacts): number {
  if (!isOnDemand) return 0;
  return notAfterMs === undefined ? 2 : 1;
}
