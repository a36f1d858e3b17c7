import { describe, expect, test } from 'vitest';
import type { Example, Rule } from '../../src/check/index.ts';
import { RULES } from '../../src/check/index.ts';
import { findingsIn } from './findings-in.ts';

async function rulesFoundIn({ slug, off }: Rule, example: Example): Promise<readonly string[]> {
  const found = await findingsIn(example, off ? { select: [slug] } : {});
  return found.map((finding) => finding.slug);
}

describe.for(RULES)('$id $slug', (rule: Rule) => {
  // What a live rule finds stands in a database.
  test.skipIf(rule.live)('finds its bad example', async () => {
    expect(new Set(await rulesFoundIn(rule, rule.bad))).toEqual(new Set([rule.slug]));
  });

  test('has nothing to say of its good example', async () => {
    expect(await rulesFoundIn(rule, rule.good)).toEqual([]);
  });
});
