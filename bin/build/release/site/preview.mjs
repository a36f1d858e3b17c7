/** `npm run site -- DIR`: the documentation of the files as they are. */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readJson } from '../json.mjs';
import { writeSite } from '../site.mjs';

const source = fileURLToPath(new URL('../../../..', import.meta.url));
const [, , ...directories] = process.argv;
if (directories.length === 1) {
  const { version } = readJson(resolve(source, 'package.json'));
  const directory = resolve(directories[0]);
  await writeSite({ directory, version, source }).then(
    () => console.log(`${directory}/latest/index.html`),
    ({ message }) => {
      console.error(`site: ${message}`);
      process.exitCode = 1;
    },
  );
} else {
  console.error('usage: npm run site -- DIR');
  process.exitCode = 2;
}
