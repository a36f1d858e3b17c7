import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { check, load } from '../../src/pipeline.ts';
import type { Example, Rule } from '../../src/check/index.ts';
import { RULES } from '../../src/check/index.ts';
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

async function rulesFoundIn({ slug, off }: Rule, example: Example): Promise<readonly string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'gw-check-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  await writeFiles(directory, example.files);
  const text = whole(example);
  const loaded = load(
    { confFile: join(directory, 'gateway.conf'), name: 'gateway.conf', prefix: directory, text },
    { advise: true },
  );
  const found = await check(loaded, off ? { select: [slug] } : {});
  return found.map((finding) => finding.slug);
}

describe.for(RULES)('$id $slug', (rule: Rule) => {
  test('finds its bad example', async () => {
    expect(new Set(await rulesFoundIn(rule, rule.bad))).toEqual(new Set([rule.slug]));
  });

  test('has nothing to say of its good example', async () => {
    expect(await rulesFoundIn(rule, rule.good)).toEqual([]);
  });
});
