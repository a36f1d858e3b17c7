import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Registry } from '../../src/config/index.ts';
import { MODULES } from '../../src/modules/index.ts';
import { reference, variables } from '../../src/tools/lookups.ts';
import { directoryWith, gw } from './command.ts';

const page = new URL('../../conf/reference.md', import.meta.url);

test('conf/reference.md is the output of gw reference (npm run reference)', async (t) => {
  const { code, stdout } = await gw(directoryWith(t, {}), ['reference']);
  expect(code).toBe(0);
  expect(readFileSync(page, 'utf8')).toBe(stdout);
});

test('the reference names every directive, and every link in it has a target', () => {
  const text = reference();
  for (const { name } of new Registry(MODULES).entries) expect(text).toContain(name);
  const anchors = new Set(
    [...text.matchAll(/<a id="(.*?)">|^## (.+)$/gm)].map(
      ([, id, heading]) => id ?? heading?.toLowerCase().replaceAll(' ', '-'),
    ),
  );
  for (const [, target] of text.matchAll(/\]\(#(.*?)\)/g)) expect(anchors).toContain(target);
});

test('the reference has every variable with its summary, families included', () => {
  const text = reference();
  for (const { name, summary } of variables())
    expect(text).toContain(`| \`$${name}\` | ${summary.replaceAll('|', '\\|')}`);
  expect(text).toContain('| `$arg_*` |');
});

test('no line of the reference is longer than a few hundred characters', () => {
  expect(
    Math.max(
      ...reference()
        .split('\n')
        .map((line) => line.length),
    ),
  ).toBeLessThan(600);
});

test('the alphabetical list has every directive, the accepted ones included', () => {
  const list = reference().split('## By name')[1] ?? '';
  for (const { name } of new Registry(MODULES).entries) expect(list).toContain(`\n- [${name}](#`);
});
