import type { AcmeCertificate, OnDemandRules } from '../plan.ts';

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
