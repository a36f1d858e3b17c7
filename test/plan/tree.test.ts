import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tree } from '../../src/tools/lookups.ts';
import { load } from '../../src/pipeline.ts';

const folder = join(import.meta.dirname, 'trees');

for (const file of readdirSync(folder)) {
  test(`the tree of ${file.replace('.golden', '')} prints servers and locations in the order of matching`, () => {
    const [conf = '', expected] = readFileSync(join(folder, file), 'utf8').split('----------\n');
    const { plan } = load({ confFile: '/gw.conf', name: 'gw.conf', prefix: '/', text: conf });
    expect(plan && tree(plan)).toBe(expected);
  });
}
