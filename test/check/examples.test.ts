import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { check, load } from '../../src/pipeline.ts';
import { mendableAtOnce, mended, RULES } from '../../src/check/index.ts';
import type { Example, Finding, Mendable, Rule } from '../../src/check/index.ts';
import { writeFiles } from './example-files.ts';

/** What stands around an example, from the inside out. */
const AROUND: readonly (readonly [where: Example['in'], wrap: (text: string) => string])[] = [
  ['location', (text) => `location / {\n${text}\n}`],
  ['server', (text) => `server {\nlisten 127.0.0.1:8080;\n${text}\n}`],
  ['http', (text) => `http {\n${text}\n}`],
];

function whole({ in: where = 'server', text }: Example): string {
  const from = AROUND.findIndex(([context]) => context === where);
  const wraps = from < 0 ? [] : AROUND.slice(from);
  return wraps.reduce((inside, [, wrap]) => wrap(inside), text);
}

/** A place with the files of an example, where texts can be checked. */
async function placeFor(
  { slug, off }: Rule,
  { files }: Example,
): Promise<(text: string) => Promise<readonly Finding[]>> {
  const directory = await mkdtemp(join(tmpdir(), 'gw-check-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  await writeFiles(directory, files);
  const confFile = join(directory, 'gateway.conf');
  return (text) =>
    check(
      load({ confFile, name: 'gateway.conf', prefix: directory, text }, { advise: true }),
      off ? { select: [slug] } : {},
    );
}

async function rulesFoundIn(rule: Rule, example: Example): Promise<readonly string[]> {
  const findIn = await placeFor(rule, example);
  return (await findIn(whole(example))).map(({ slug }) => slug);
}

/** The same with everything mended that the rule offers a fix for, in as many rounds as that takes. */
async function afterFixes(
  rule: Rule,
): Promise<{ readonly offered: number; readonly left: readonly Finding[] }> {
  const findIn = await placeFor(rule, rule.bad);
  let text = whole(rule.bad);
  let offered = 0;
  for (let round = 0; round < 10; round++) {
    const findings = await findIn(text);
    const mendable = findings.filter(
      (finding): finding is Mendable => finding.slug === rule.slug && finding.fix !== undefined,
    );
    if (mendable.length === 0) return { offered, left: findings };
    offered += mendable.length;
    [text] = [...mended(mendableAtOnce(mendable)).values()] as [string];
  }
  throw new Error(`the fixes of ${rule.id} never end`);
}

describe.for(RULES)('$id $slug', (rule: Rule) => {
  test('finds its bad example', async () => {
    expect(new Set(await rulesFoundIn(rule, rule.bad))).toEqual(new Set([rule.slug]));
  });

  test('has nothing to say of its good example', async () => {
    expect(await rulesFoundIn(rule, rule.good)).toEqual([]);
  });

  test('is content with its own fixes, and no error comes of them', async () => {
    const { offered, left } = await afterFixes(rule);
    const isConsequence = ({ slug, severity }: Finding): boolean =>
      slug !== rule.slug && severity === 'error';
    expect(left.filter(isConsequence).map(({ message }) => message)).toEqual([]);
    if (offered > 0) expect(left.filter(({ slug }) => slug === rule.slug)).toEqual([]);
  });
});
