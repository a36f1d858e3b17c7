import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Registry } from '../../src/config/index.ts';
import { MODULES } from '../../src/modules/index.ts';
import { reference } from '../../src/lookups.ts';
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
    [...text.matchAll(/<a id="(.*?)">|^## (\S+)$/gm)].map(([, id, heading]) => id ?? heading),
  );
  for (const [, target] of text.matchAll(/\]\(#(.*?)\)/g)) expect(anchors).toContain(target);
});
