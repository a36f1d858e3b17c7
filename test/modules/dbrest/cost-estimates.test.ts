import { expect, test } from 'vitest';
import { type CostGuard, compileCostGuard } from '../../../src/modules/dbrest/database/cost-guard.ts';
import type { RunPlan, Statements } from '../../../src/modules/dbrest/sql/index.ts';
import type { Schema } from '../../../src/modules/dbrest/schema/index.ts';

/** A request whose estimate is known by its text and its value. */
const requestOf = (text: string, value: string): Parameters<CostGuard['estimationOf']> => {
  const step = { statement: { text: 'select', values: Array.from({ length: 10 }, () => '') } };
  const statements: Pick<Statements, 'before' | 'main' | 'firstCount' | 'settingsAt' | 'preRequest'> = {
    before: [step],
    main: { statement: { text, values: [value] } },
    firstCount: 1,
    settingsAt: 0,
    preRequest: undefined,
  };
  const plan: Pick<RunPlan, 'kind'> = { kind: 'call' };
  return [plan as RunPlan, statements as Statements];
};

const costing = (cost: number): (readonly string[])[] => [
  [],
  [JSON.stringify([{ Plan: { 'Total Cost': cost } }])],
];

interface Scene {
  readonly guard: CostGuard;
  nowMs: number;
  schema: Schema;
  /** Estimates a request, or tells that its cost is known. */
  ask(text: string, value?: string): 'known' | 'estimated';
}

const schemaOf = (): Schema => ({ tables: new Map() }) as Partial<Schema> as Schema;

function open(maxCost: number): Scene {
  const scene = { nowMs: 0, schema: schemaOf() };
  const guard = compileCostGuard(
    { maxCost },
    {
      schema: {
        get known() {
          return scene.schema;
        },
      },
      costRefusals: { add: () => undefined },
      nowMs: () => scene.nowMs,
    },
  );
  if (!guard) throw new Error('no guard');
  return Object.assign(scene, {
    guard,
    ask(text: string, value = '') {
      const estimation = guard.estimationOf(...requestOf(text, value));
      estimation?.judge(costing(1));
      return estimation ? ('estimated' as const) : ('known' as const);
    },
  });
}

test('an estimate is made once, and again for another statement, another value and another schema', () => {
  const scene = open(10);
  expect(scene.ask('a')).toBe('estimated');
  expect(scene.ask('a')).toBe('known');
  expect(scene.ask('b')).toBe('estimated');
  expect(scene.ask('a', '1')).toBe('estimated');
  expect(scene.ask('a', '1')).toBe('known');
  scene.schema = schemaOf();
  expect(scene.ask('a')).toBe('estimated');
});

test('an estimate is made again when it is old, and when it was used often', () => {
  const scene = open(10);
  scene.ask('a');
  scene.nowMs = 299_999;
  expect(scene.ask('a')).toBe('known');
  scene.nowMs = 300_000;
  expect(scene.ask('a')).toBe('estimated');
  for (let i = 0; i < 10_000; i += 1) expect(scene.ask('a')).toBe('known');
  expect(scene.ask('a')).toBe('estimated');
});

test('the estimates that are kept are bounded; the one that was not used for longest goes', () => {
  const scene = open(10);
  for (let i = 0; i <= 8_192; i += 1) scene.ask('a', String(i));
  expect(scene.ask('a', '8192')).toBe('known');
  expect(scene.ask('a', '0')).toBe('estimated');
});

test('a cost that is known to be too high is refused without asking again', () => {
  const { guard } = open(10);
  const request = requestOf('a', '');
  const refusal = expect.objectContaining({ code: 'DBREST100', status: 400 });
  expect(() => guard.estimationOf(...request)?.judge(costing(10.01))).toThrow(refusal);
  expect(() => guard.estimationOf(...request)).toThrow(refusal);
});
