import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load, type Loaded } from '../../../src/pipeline.ts';

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
