/** `npm run site -- DIR`: the documentation of the files as they are. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeSite } from '../site.mjs';

const source = fileURLToPath(new URL('../../../..', import.meta.url));
const { values, positionals } = parseArgs({ options: { base: { type: 'string' } }, allowPositionals: true });
if (positionals.length === 1) {
  const { version } = JSON.parse(readFileSync(resolve(source, 'package.json'), 'utf8'));
  const directory = resolve(positionals[0]);
  await writeSite({ ...values, directory, version, source }).then(
    () => console.log(`${directory}/latest/index.html`),
    ({ message }) => {
      console.error(`site: ${message}`);
      process.exitCode = 1;
    },
  );
} else {
  console.error('usage: npm run site -- DIR [--base /path/]');
  process.exitCode = 2;
}
