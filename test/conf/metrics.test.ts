import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, textOf } from './files.ts';

const DEFINITION = /\bname: (['`])((?:gw|nginx|process)_[^'`]+)\1/g;

/** The names that the source defines; a name with `${…}` in it stands for several. */
const defined = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .flatMap((path) => [...textOf(join('src', path)).matchAll(DEFINITION)].map(([, , name = '']) => name));

/** The names in the first column of the tables. */
const listed = [...textOf('conf/guide/metrics.md').matchAll(/^\| `(\w+)`/gm)].map(([, name = '']) => name);

/** Whether a definition gives a name. */
function gives(definition: string, name: string): boolean {
  return new RegExp(`^${definition.replaceAll(/\$\{\w+\}/g, '[a-z]+')}$`).test(name);
}

test('the guide lists every metric that the source defines', () => {
  expect(defined.length).toBeGreaterThan(40);
  expect(defined.filter((definition) => !listed.some((name) => gives(definition, name)))).toEqual([]);
});

test('the guide lists no metric that does not exist, and none twice', () => {
  expect(listed.filter((name) => !defined.some((definition) => gives(definition, name)))).toEqual([]);
  expect(listed.filter((name, index) => listed.indexOf(name) !== index)).toEqual([]);
});

test.each(['README.md', 'production.md'])('%s of the guide links to the metrics', (page) => {
  expect(textOf(`conf/guide/${page}`)).toContain('](metrics.md)');
});
