import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { DbrestConfig } from '../directives/index.ts';
import { tooCostly } from '../fault/index.ts';
import type { Schema } from '../schema/index.ts';
import type { Results } from '../session/index.ts';
import { type BoundValue, estimateFor, type RunPlan, type Statements, type Step } from '../sql/index.ts';

/** Statements that estimate the cost of a request. They run before it, in a transaction of their own. */
export interface Estimation {
  readonly steps: readonly Step[];
  /** Throws the fault that keeps the request from running. */
  readonly judge: (results: Results) => void;
}

/** Compares the estimated costs of requests with `dbrest_max_cost`. */
export interface CostGuard {
  /** Returns statements to run first, if the cost of a request is not known. Throws DBREST100 if it is too high. */
  estimationOf(plan: RunPlan, statements: Statements): Estimation | undefined;
}

interface GuardParts {
  readonly schema: { readonly known: Schema | undefined };
  readonly costRefusals: { add(): void };
  readonly nowMs?: () => number;
}

/** The estimates of a location. Each one takes some 200 bytes. */
const MOST_ESTIMATES = 8_192;
/** Tables grow and statistics change, so an estimate is made again after this time, or after so many uses. */
const LONGEST_MS = 300_000;
const MOST_USES = 10_000;

interface KeptEstimate {
  readonly cost: number;
  readonly endMs: number;
  uses: number;
}

/** Compiles the guard of a location; `undefined` without `dbrest_max_cost`. */
export function compileCostGuard(
  { maxCost }: Pick<DbrestConfig, 'maxCost'>,
  { schema, costRefusals, nowMs = () => performance.now() }: GuardParts,
): CostGuard | undefined {
  if (maxCost === undefined) return undefined;
  const kept = new LRUCache<string, KeptEstimate>({ max: MOST_ESTIMATES });
  let keptFor: Schema | undefined;
  const check = (cost: number): void => {
    if (cost <= maxCost) return;
    costRefusals.add();
    throw tooCostly(cost, maxCost);
  };
  return {
    estimationOf(plan, statements) {
      const { known } = schema;
      if (known !== keptFor) kept.clear();
      keptFor = known;
      const estimate = estimateFor(plan, statements);
      if (!estimate) return undefined;
      const key = digest(estimate.dependsOn);
      const found = kept.get(key);
      if (found && found.uses < MOST_USES && nowMs() < found.endMs) {
        found.uses += 1;
        check(found.cost);
        return undefined;
      }
      const judge = (results: Results): void => {
        const cost = estimate.costIn(results);
        if (schema.known === known) kept.set(key, { cost, endMs: nowMs() + LONGEST_MS, uses: 0 });
        check(cost);
      };
      return { steps: estimate.steps, judge };
    },
  };
}

/** A digest of values, each with its length, so that no two lists have the same. */
function digest(values: readonly BoundValue[]): string {
  let text = '';
  for (const value of values) {
    const one = textOf(value);
    text += one === null ? '-' : `${one.length}:${one}`;
  }
  return hash('sha256', text, 'base64url');
}

/** The text of a value. A body can be large, so its digest is used instead. */
function textOf(value: BoundValue): string | null {
  if (value === null || typeof value === 'string') return value;
  return hash('sha256', Buffer.concat([value].flat()), 'base64url');
}
