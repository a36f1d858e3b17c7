import { readChain } from '../certificates/index.ts';
import type { AcmeCertificate, OnDemandRules } from '../plan.ts';
import type { IssuerState } from './issuer-state.ts';
import { KeptEntry } from './kept-entry.ts';

/** The bounds of `acme_on_demand`: how many orders in a time, and how many certificates. */
export class OnDemandLimits {
  readonly #rules: readonly { readonly rules: OnDemandRules; readonly orderedMs: number[] }[];

  constructor(all: readonly OnDemandRules[]) {
    this.#rules = all.map((rules) => ({ rules, orderedMs: [] }));
  }

  /** Counts an order, unless there were too many. `present`: the certificates that there are. Returns the reason. */
  refusal({ issuer, key }: AcmeCertificate, present: number, nowMs: number): string | undefined {
    const found = this.#rules.find(({ rules }) => rules.issuer === issuer && rules.key === key);
    if (!found) return 'no "acme_on_demand" is for it';
    const { rules, orderedMs } = found;
    if (present >= rules.max) return `there are ${present} already (max=${rules.max})`;
    // The clock may have been set back.
    const recent = orderedMs.filter((ms) => ms <= nowMs && ms > nowMs - rules.rate.perMs);
    orderedMs.splice(0, Infinity, ...recent);
    if (recent.length >= rules.rate.orders)
      return `more than ${rules.rate.orders} orders in ${rules.rate.perMs / 1_000} s (rate=)`;
    orderedMs.push(nowMs);
    return undefined;
  }
}

interface StoredParts {
  readonly issuer: string;
  readonly rules: readonly OnDemandRules[];
  readonly state: IssuerState;
}

/**
 * The certificate on demand that an earlier start has stored under an id: that is its name, or is made from that and the
 * kind of its key. `undefined`: it is none.
 */
export async function storedOnDemand(
  id: string,
  { issuer, rules, state }: StoredParts,
): Promise<KeptEntry | undefined> {
  const entryOf = (value: string): KeptEntry | undefined =>
    rules
      .map(({ key }) => new KeptEntry({ issuer, identifiers: [{ type: 'dns', value }], key }, true))
      .find((one) => one.id === id);
  const named = entryOf(id);
  if (named) return named;
  const pair = await state.pair(id);
  const facts = pair && (await readChain(pair.chain).catch(() => undefined));
  for (const { value } of facts?.names ?? []) {
    const entry = entryOf(value);
    if (entry) return entry;
  }
  return undefined;
}
