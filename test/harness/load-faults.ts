import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { formatFaults } from '../../grammar/index.ts';
import { load, type Loaded } from '../../src/pipeline.ts';

/** Loads a whole configuration, as `gw -t` does; messages call the file `gw.conf`. */
export function loadConf(conf: string): Loaded {
  const dir = mkdtempSync(join(tmpdir(), 'gw-load-'));
  try {
    const confFile = join(dir, 'gw.conf');
    writeFileSync(confFile, conf);
    return load({ confFile, name: 'gw.conf', prefix: dir });
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/**
 * A test for each file of `errors/` beside the test file: a configuration, a line of dashes, and the whole output of
 * `gw -t`. RECORD=1 writes the output: read it before you commit it.
 */
export function testLoadFaults(testFile: string): void {
  const folder = fileURLToPath(new URL('errors/', testFile));
  for (const file of readdirSync(folder)) {
    test(`${file.replace('.golden', '').replaceAll('-', ' ')} fails the load with its message`, () => {
      const [conf = '', message] = readFileSync(join(folder, file), 'utf8').split(/^-{5,}\n/m);
      const said = formatFaults(loadConf(conf).report, { program: 'gw', color: false });
      if (process.env['RECORD']) writeFileSync(join(folder, file), `${conf}----------\n${said}`);
      else expect(said).toBe(message);
    });
  }
}
