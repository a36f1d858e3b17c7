import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { tar } from './archive.mjs';
import { stageFiles } from './installed-tree.mjs';

/** Makes `gw-V.tgz`, which `npm publish` and `npm install` take. */
export async function make(release) {
  // npm's name for the only directory of a package.
  const directory = join(release.scratch('npm'), 'package');
  mkdirSync(directory);
  stageFiles(release, directory, 'npm');
  return [await tar(directory, join(release.out, `gw-${release.version}.tgz`), { compress: 'gzip' })];
}
