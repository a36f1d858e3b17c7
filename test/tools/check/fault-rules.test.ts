import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { ruleCatalogue } from '../../../src/pipeline.ts';

const { rules: RULES } = await ruleCatalogue();

const ROOT = resolve(import.meta.dirname, '../../..');

/** Where a load reports faults; the rules themselves stand in src/tools/check and in the `rules` of modules. */
const FOLDERS = ['grammar', 'src/config', 'src/contract', 'src/modules', 'src/plan'];

/** A fault names its rule directly, by a constant, or as the last argument of `firstAt`. */
const NAMES_RULE = /\brule\b|firstAt\(|\bfinding\(|\b(?:DUPLICATE|CONFLICT|UNEXPECTED)\b/;

function slugsIn(text: string): readonly string[] {
  const lines = text.split('\n').filter((line) => NAMES_RULE.test(line) && !/^\s*(\/\/|\*)/.test(line));
  return lines.flatMap((line) =>
    [...line.matchAll(/'([a-z]+(?:-[a-z]+)+)'/g)].map(([, slug]) => slug as string),
  );
}

const files = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/\brules(?:\/[^/]+)?\.ts$/.test(file))
    .map((file) => join(folder, file)),
);

// The faults of an ignore comment are known only after all rules have run.
const named = [...files, 'src/tools/check/suppress.ts'].flatMap((file) =>
  slugsIn(readFileSync(join(ROOT, file), 'utf8')),
);

test('every rule that a fault names is in the list of rules', () => {
  const known = new Set(RULES.map(({ slug }) => slug));
  expect([...new Set(named)].filter((slug) => !known.has(slug))).toEqual([]);
  expect(named.length).toBeGreaterThan(50);
});

test('every rule without a check of its own is named by a fault', () => {
  const unnamed = RULES.filter(({ check, slug }) => !check && slug !== 'bad-value' && !named.includes(slug));
  expect(unnamed.map(({ id, slug }) => `${id} ${slug}`)).toEqual([]);
});

test('no two rules share an id or a slug', () => {
  const names = RULES.flatMap(({ id, slug }) => [id, slug]);
  expect(names).toEqual([...new Set(names)]);
});
