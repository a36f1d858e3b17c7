import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { formatFaults } from '../../../grammar/index.ts';
import { load } from '../../../src/pipeline.ts';

const folder = fileURLToPath(new URL('errors/', import.meta.url));

for (const file of readdirSync(folder)) {
  test(`${file.replace('.golden', '').replaceAll('-', ' ')} fails the load with its message`, () => {
    const [conf = '', message] = readFileSync(join(folder, file), 'utf8').split(/^-{5,}\n/m);
    if (process.env['RECORD']) writeFileSync(join(folder, file), `${conf}----------\n${faultsOf(conf)}`);
    else expect(faultsOf(conf)).toBe(message);
  });
}

/** What `gw -t` prints of a configuration that it calls `gw.conf`. */
function faultsOf(conf: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'gw-proxy-load-'));
  try {
    const confFile = join(dir, 'gw.conf');
    writeFileSync(confFile, conf);
    return formatFaults(load({ confFile, name: 'gw.conf', prefix: dir }).report, {
      program: 'gw',
      color: false,
    });
  } finally {
    rmSync(dir, { recursive: true });
  }
}
