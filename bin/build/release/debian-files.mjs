import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The files that dpkg does not overwrite when an administrator has changed them. */
export const CONFFILES = ['/etc/gw/gateway.conf', '/etc/logrotate.d/gw'];

const DESCRIPTION = `HTTP gateway with the configuration language of nginx
 gw serves files, forwards requests to upstreams, caches and limits them as
 nginx does, from configuration files in its language. Locations can also be a
 REST API over PostgreSQL, commands of Redis, and streams of events.
 .
 The package has its own Node.js; none has to be installed.`;

/** Returns the version of the package: a release candidate or a snapshot is older than the release (`~`). */
export function debianVersion(version) {
  return `${version.replace('-', '~')}-1`;
}

/** Returns the text of the file `control`. `sizeKb` is what the files take when they are installed. */
export function controlFile({ version, architecture, maintainer, depends, sizeKb, homepage }) {
  const fields = {
    Package: 'gw',
    Version: debianVersion(version),
    Architecture: architecture,
    Maintainer: maintainer,
    'Installed-Size': sizeKb,
    Depends: [...depends, 'adduser', 'init-system-helpers (>= 1.54~)'].join(', '),
    Recommends: 'ca-certificates, logrotate',
    Suggests: 'postgresql, redis-server',
    Section: 'httpd',
    Priority: 'optional',
    Homepage: homepage,
    Description: DESCRIPTION,
  };
  const lines = Object.entries(fields).filter(([, value]) => value !== undefined);
  return lines.map(([name, value]) => `${name}: ${value}\n`).join('');
}

/** Returns the changelog of the package, which points to that of gw. */
export function debianChangelog({ version, maintainer, epoch }) {
  const date = new Date(epoch * 1000).toUTCString().replace('GMT', '+0000');
  return `gw (${debianVersion(version)}) stable; urgency=medium

  * gw ${version}: see /usr/share/doc/gw/changelog.gz

 -- ${maintainer}  ${date}
`;
}

/** Returns the text of `md5sums`, which `dpkg --verify` reads: every regular file but the conffiles. */
export function md5sums(root) {
  return filesOf(root)
    .filter((path) => !CONFFILES.includes(`/${path}`))
    .map(
      (path) =>
        `${createHash('md5')
          .update(readFileSync(join(root, path)))
          .digest('hex')}  ${path}\n`,
    )
    .join('');
}

/** Returns what the files below a directory take, in units of 1024 bytes, as Debian's policy counts it. */
export function installedSizeKb(root) {
  const sizes = filesOf(root).map((path) => Math.ceil(statSync(join(root, path)).size / 1024));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Returns the relative paths of regular files, sorted by their bytes. */
function filesOf(root) {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}
