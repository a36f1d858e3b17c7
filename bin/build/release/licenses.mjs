import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readJson } from './json.mjs';
import { packageName } from './manifest.mjs';

const TEXTS = /^(licen[cs]e|copying|notice)/i;

/** Returns the licenses of the packages whose code is in `dist`, which demand to come with it. */
export function bundledLicenses(source, bundled, lock) {
  const parts = bundled.map((path) => {
    const { version, license = 'see its package' } = lock.packages[path];
    return [`${packageName(path)} ${version} (${license})`, ...textsIn(join(source, path), TEXTS)].join(
      '\n\n',
    );
  });
  return `Packages that are part of this program\n\n${parts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

/**
 * Returns the licenses of all that an installation for Linux has: gw, Node.js and the packages of the lock file that gw
 * needs, in bundles or as they are.
 */
export function installedLicenses({ source }, nodeLicense) {
  const { packages } = readJson(join(source, 'package-lock.json'));
  const used = Object.entries(packages).filter(
    ([path, { dev, os }]) => path !== '' && !dev && (os === undefined || os.includes('linux')),
  );
  const sections = [
    ['gw', readFileSync(join(source, 'LICENSE'), 'utf8')],
    ['Node.js', readFileSync(nodeLicense, 'utf8')],
    ...used
      .filter(([path]) => existsSync(join(source, path)))
      .map(([path, { version, license }]) => [
        `${packageName(path)} ${version} (${license})`,
        licenseOf(join(source, path)) ?? 'The package has no text of its license.',
      ]),
  ];
  return sections
    .map(([name, text]) => `${name}\n${'='.repeat(name.length)}\n\n${text.trim()}\n`)
    .join('\n\n');
}

/** Returns the license of the package in a directory; `undefined` if it has no text of it. */
export function licenseOf(directory) {
  return textsIn(directory, /^(licen[cs]e|copying)/i)[0];
}

function textsIn(directory, names) {
  const found = readdirSync(directory).filter((name) => names.test(name));
  return found.sort().map((name) => readFileSync(join(directory, name), 'utf8').trim());
}
