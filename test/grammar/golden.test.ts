import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { formatFaults } from '../../grammar/index.ts';
import { loadText } from './load-text.ts';

const directory = new URL('errors/', import.meta.url);
const DASHES = '----------\n';

for (const file of readdirSync(directory)) {
  test(`the message for ${file.replace('.golden', '').replaceAll('-', ' ')} is as agreed`, () => {
    const golden = readFileSync(new URL(file, directory), 'utf8');
    const [config] = golden.split(DASHES, 1);
    const { report } = loadText(config!, { file: '/etc/gw/gw.conf', name: 'conf/gw.conf' });
    expect(config + DASHES + formatFaults(report, { program: 'gw', color: false })).toBe(golden);
  });
}
