import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Returns the licenses of all that an installation for Linux has: gw, Node.js and the packages of the lock file that gw
 * needs, in bundles or as they are.
 */
export function licenses({ source }, nodeLicense) {
  const { packages } = JSON.parse(readFileSync(join(source, 'package-lock.json'), 'utf8'));
  const used = Object.entries(packages).filter(
    ([path, { dev, os }]) => path !== '' && !dev && (os === undefined || os.includes('linux')),
  );
  const sections = [
    ['gw', readFileSync(join(source, 'LICENSE'), 'utf8')],
    ['Node.js', readFileSync(nodeLicense, 'utf8')],
    ...used
      .filter(([path]) => existsSync(join(source, path)))
      .map(([path, { version, license }]) => [
        `${path.replace(/^.*node_modules\//, '')} ${version} (${license})`,
        licenseOf(join(source, path)),
      ]),
  ];
  return sections
    .map(([name, text]) => `${name}\n${'='.repeat(name.length)}\n\n${text.trim()}\n`)
    .join('\n\n');
}

function licenseOf(directory) {
  const name = readdirSync(directory).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  return name === undefined
    ? 'The package has no text of its license.'
    : readFileSync(join(directory, name), 'utf8');
}
