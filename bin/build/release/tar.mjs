import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tar } from './archive.mjs';
import { forEachArchitecture } from './installed-tree.mjs';
import { installedLicenses } from './licenses.mjs';
import { stageLinuxProgram } from './linux-program.mjs';

/** Makes `gw-V-linux-ARCH.tar.xz` for both architectures: `bin/gw` and `lib/gw`, which work in any directory. */
export async function make(release) {
  return forEachArchitecture(release, ['x64', 'arm64'], async (arch) => {
    const name = `gw-${release.version}-linux-${arch}`;
    const directory = join(release.scratch(`tar-${arch}`), name);
    mkdirSync(join(directory, 'bin'), { recursive: true });
    const nodeLicense = await stageLinuxProgram(release, join(directory, 'lib/gw'), {
      arch,
      kind: 'tarball',
    });
    symlinkSync('../lib/gw/dist/bin/gw.js', join(directory, 'bin/gw'));
    writeFileSync(join(directory, 'LICENSES'), installedLicenses(release, nodeLicense));
    return tar(directory, join(release.out, `${name}.tar.xz`), { compress: 'xz' });
  });
}
