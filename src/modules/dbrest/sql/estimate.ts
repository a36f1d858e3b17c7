import { isByKey, isInert, type ReadNode, type WritePlan } from '../plan/index.ts';
import { type RunPlan, SETTINGS_OF_CALLER, type Statements } from './transaction.ts';
import { estimateOf } from './shape.ts';
import { BEGIN, type BoundValue, ROLLBACK, type Step } from './statement.ts';

type ResultRow = readonly (string | null)[] | undefined;

/** The statements that show what the planner expects the statements of a request to cost. */
interface Estimate {
  /** One transaction. Nothing but `dbrest_pre_request` is executed, and its effects are undone. */
  readonly steps: readonly Step[];
  /** Everything that the estimate depends on, apart from the location and the schema. */
  readonly dependsOn: readonly BoundValue[];
  /** The sum of the costs, from the results of the steps. */
  readonly costIn: (results: readonly ResultRow[]) => number;
}

/**
 * The estimate of a request's main statement and of its counts; `undefined` if none of them reads or writes rows. The
 * values of the request are bound as for the statements themselves, so that the planner sees the same.
 */
export function estimateFor(
  plan: RunPlan,
  { before, main, firstCount, settingsAt, preRequest }: Statements,
): Estimate | undefined {
  if (plan.kind === 'describe') return undefined;
  const costly = [...before.slice(firstCount), main].flatMap(({ statement }) => estimateOf(statement) ?? []);
  if (costly.length === 0) return undefined;
  const settings = before[settingsAt] as Step;
  const explained = costly.map((statement): Step => ({ statement }));
  const steps = preRequest ? [BEGIN, settings, preRequest, ...explained, ROLLBACK] : [settings, ...explained];
  const first = preRequest ? 3 : 1;
  const texts = costly.map(({ text }) => text);
  const values = isOneRow(plan) ? [] : costly.flatMap((statement) => statement.values);
  return {
    steps,
    dependsOn: [
      ...texts,
      ...planningSettings(settings.statement.values, isPlain(plan) && !preRequest),
      ...values,
    ],
    costIn: (results) => costly.reduce((sum, _statement, i) => sum + totalCost(results[first + i]), 0),
  };
}

/** The settings that can change an estimate. Only policies, views and functions read those of the caller. */
function planningSettings(values: readonly BoundValue[], hidesCaller: boolean): readonly BoundValue[] {
  return hidesCaller
    ? values.filter((_value, i) => i < SETTINGS_OF_CALLER.from || i >= SETTINGS_OF_CALLER.to)
    : values;
}

/** A rule may turn a statement into several, each of which has a plan. */
function totalCost(row: ResultRow): number {
  const plans = JSON.parse(row?.[0] ?? '[]') as readonly { readonly Plan?: { 'Total Cost': number } }[];
  return plans.reduce((sum, { Plan: plan }) => sum + (plan?.['Total Cost'] ?? 0), 0);
}

/** Returns whether only tables without policies and functions are read. */
function isPlain(plan: RunPlan): boolean {
  switch (plan.kind) {
    case 'read':
      return isPlainNode(plan.rows);
    case 'write':
      return isPlainNode(plan.rows) && isPlainWrite(plan.write);
    case 'call':
    case 'describe':
      return false;
  }
}

function isPlainWrite(write: WritePlan): boolean {
  return write.kind === 'insert' || isPlainNode(write.rows.node);
}

function isPlainNode(node: ReadNode): boolean {
  return isInert(node) && node.table.kind === 'r' && node.embeds.every((embed) => isPlainNode(embed.node));
}

/**
 * Returns whether the values of a request cannot change its estimate: it touches at most one row of a plain table,
 * found by its whole key, or it inserts rows, whose number the planner does not know.
 */
function isOneRow(plan: RunPlan): boolean {
  if (!isPlain(plan)) return false;
  switch (plan.kind) {
    case 'read':
      return isKeyAlone(plan.rows);
    case 'write':
      return (
        plan.rows.embeds.length === 0 && (plan.write.kind === 'insert' || isKeyAlone(plan.write.rows.node))
      );
    case 'call':
    case 'describe':
      return false;
  }
}

function isKeyAlone(node: ReadNode): boolean {
  const { table, conditions, embeds } = node;
  return isByKey(node) && conditions.length === table.primaryKey.length && embeds.length === 0;
}
