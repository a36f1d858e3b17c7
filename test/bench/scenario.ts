import type { Bench } from './bench.ts';
import { compare, type Comparison } from './compare.ts';
import type { Row } from './row.ts';

/** A comparison under load, of the throughput and of the tails. */
export interface Scenario {
  readonly name: string;
  open(bench: Bench): Promise<Comparison>;
}

/** The throughput of scenarios, one after the other. */
export function throughputOf(name: string, ...scenarios: readonly Scenario[]): Row {
  return {
    name,
    async run(bench) {
      const findings = [];
      for (const { open } of scenarios) findings.push(...(await compare(bench, await open(bench))));
      return findings;
    },
  };
}
