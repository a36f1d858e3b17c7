import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const TEXTS = /^(licen[cs]e|copying|notice)/i;

/** Returns the licences of the packages whose code is in `dist`, which demand to come with it. */
export function licenseTexts(source, bundled, lock) {
  const parts = bundled.map((path) => {
    const { version, license = 'see its package' } = lock.packages[path];
    const directory = join(source, path);
    const texts = readdirSync(directory)
      .filter((name) => TEXTS.test(name))
      .sort()
      .map((name) => readFileSync(join(directory, name), 'utf8').trim());
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    return [`${name} ${version} (${license})`, ...texts].join('\n\n');
  });
  return `Packages that are part of this program\n\n${parts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
