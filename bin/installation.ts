import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Returns the root directory of the installation, found upwards because bundles are at different depths. */
export function packageRoot(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'package.json'))) {
    const parent = dirname(directory);
    if (parent === directory) throw new Error('the installation has no package.json');
    directory = parent;
  }
  return directory;
}

/** Returns the path of what a release says of itself; a checkout has no such file. */
export function releaseFile(): string {
  return join(packageRoot(), 'dist/release.json');
}
