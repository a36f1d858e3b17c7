import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { formatFaults } from '../../../grammar/index.ts';
import { loadConf } from '../worker_events/load-conf.ts';

const folder = fileURLToPath(new URL('errors/', import.meta.url));

for (const file of readdirSync(folder)) {
  test(`${file.replace('.golden', '').replaceAll('-', ' ')} fails the load with its message`, () => {
    const [conf = '', message] = readFileSync(join(folder, file), 'utf8').split(/^-{5,}\n/m);
    expect(formatFaults(loadConf(conf).report, { program: 'gw', color: false })).toBe(message);
  });
}
