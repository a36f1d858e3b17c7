import { describe, expect, test } from 'vitest';
import type { Rule } from '../../src/check/index.ts';
import { RULES } from '../../src/check/index.ts';
import { findingsIn } from './findings-in.ts';

async function rulesFoundIn(example: Rule['bad']): Promise<readonly string[]> {
  return (await findingsIn(example)).map(({ slug }) => slug);
}

describe.for(RULES)('$id $slug', (rule: Rule) => {
  test('finds its bad example', async () => {
    expect(new Set(await rulesFoundIn(rule.bad))).toEqual(new Set([rule.slug]));
  });

  test('has nothing to say of its good example', async () => {
    expect(await rulesFoundIn(rule.good)).toEqual([]);
  });
});
