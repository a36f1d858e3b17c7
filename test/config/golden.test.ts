import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { formatFaults } from '../../grammar/index.ts';
import { load } from '../../src/pipeline.ts';

/*
 * errors/*.golden: a configuration, a line of dashes, and all that `gw check` prints for it. RECORD=1 writes the messages anew:
 * read them before you commit them.
 */
const directory = new URL('errors/', import.meta.url);
const DASHES = '----------\n';

for (const file of readdirSync(directory)) {
  test(`the message for ${file.replace('.golden', '').replaceAll('-', ' ')} is as agreed`, () => {
    const golden = readFileSync(new URL(file, directory), 'utf8');
    const [config = ''] = golden.split(DASHES, 1);
    const { report, plan } = load(
      { confFile: '/etc/gw/gw.conf', name: 'conf/gw.conf', prefix: '/etc/gw', text: config },
      { advise: true },
    );
    const said = config + DASHES + formatFaults(report, { program: 'gw', color: false });
    if (process.env['RECORD']) writeFileSync(new URL(file, directory), said);
    expect(said).toBe(golden);
    expect(plan === undefined).toBe(report.failed);
  });
}
