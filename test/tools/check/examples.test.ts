import { describe, expect, test } from 'vitest';
import type { Example, Rule } from '../../../src/contract/index.ts';
import { type Finding, type Mendable, mendableAtOnce, mended } from '../../../src/tools/check/index.ts';
import { ruleCatalogue } from '../../../src/pipeline.ts';
import { findingsIn, placeFor, whole } from './findings-in.ts';

const { rules: RULES } = await ruleCatalogue();

async function rulesFoundIn({ slug, off }: Rule, example: Example): Promise<readonly string[]> {
  const found = await findingsIn(example, off ? { select: [slug] } : {});
  return found.map((finding) => finding.slug);
}

/** The text with all fixes of the rule applied, in as many rounds as that takes. */
async function afterFixes(
  rule: Rule,
): Promise<{ readonly offered: number; readonly left: readonly Finding[] }> {
  const findIn = await placeFor(rule.bad);
  let text = whole(rule.bad);
  let offered = 0;
  for (let round = 0; round < 10; round++) {
    const findings = await findIn(text, rule.off ? { select: [rule.slug] } : {});
    const mendable = findings.filter(
      (finding): finding is Mendable => finding.slug === rule.slug && finding.fix !== undefined,
    );
    if (mendable.length === 0) return { offered, left: findings };
    offered += mendable.length;
    [text] = [...mended(mendableAtOnce(mendable)).values()] as [string];
  }
  throw new Error(`the fixes of ${rule.id} never end`);
}

// The findings of live rules depend on a database: those have tests of their own.
describe.for(RULES.filter(({ live }) => !live))('$id $slug', (rule: Rule) => {
  test('finds its bad example', async () => {
    expect(new Set(await rulesFoundIn(rule, rule.bad))).toEqual(new Set([rule.slug]));
  });
});

describe.for(RULES)('$id $slug', (rule: Rule) => {
  test('finds nothing in its good example', async () => {
    expect(await rulesFoundIn(rule, rule.good)).toEqual([]);
  });

  test('finds nothing after its own fixes, which cause no error', async () => {
    const { offered, left } = await afterFixes(rule);
    const isConsequence = ({ slug, severity }: Finding): boolean =>
      slug !== rule.slug && severity === 'error';
    expect(left.filter(isConsequence).map(({ message }) => message)).toEqual([]);
    if (offered > 0) expect(left.filter(({ slug }) => slug === rule.slug)).toEqual([]);
  });
});
