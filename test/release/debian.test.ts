import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import {
  controlFile,
  debianChangelog,
  debianVersion,
  installedSizeKb,
  md5sums,
} from '../../bin/build/release/debian-files.mjs';
import { dependsOn } from '../../bin/build/release/depends.mjs';
import { ROOT } from '../conf/files.ts';

const dir = mkdtempSync(join(tmpdir(), 'gw-debian-'));
afterAll(() => rmSync(dir, { recursive: true }));

const MAINTAINER = 'Ann <ann@gw.example>';
const HAS_DPKG = spawnSync('dpkg', ['--version']).error === undefined;

const versions: readonly (readonly [version: string, debian: string])[] = [
  ['1.0.0', '1.0.0-1'],
  ['1.0.0-rc.1', '1.0.0~rc.1-1'],
  ['1.0.0-12+g0123abc', '1.0.0~12+g0123abc-1'],
];

for (const [version, debian] of versions)
  test(`the package of ${version} has the version ${debian}`, () => {
    expect(debianVersion(version)).toBe(debian);
  });

test.skipIf(!HAS_DPKG)('a release candidate and a snapshot are older than the release for dpkg', () => {
  for (const older of ['1.0.0-rc.1', '1.0.0-12+g0123abc']) {
    const words = ['--compare-versions', debianVersion(older), 'lt', debianVersion('1.0.0')];
    expect(spawnSync('dpkg', words).status).toBe(0);
  }
});

test('the control file has what dpkg and apt want', () => {
  const text = controlFile({
    version: '1.0.0-rc.1',
    architecture: 'arm64',
    maintainer: MAINTAINER,
    depends: ['libc6 (>= 2.34)'],
    sizeKb: 12,
    homepage: undefined,
  });
  expect(text).toMatch(/^Package: gw\nVersion: 1\.0\.0~rc\.1-1\nArchitecture: arm64\n/);
  expect(text).toMatch(/^Depends: libc6 \(>= 2\.34\), adduser, init-system-helpers \(>= \S+\)$/m);
  expect(text).toContain(`\nMaintainer: ${MAINTAINER}\nInstalled-Size: 12\n`);
  expect(text).not.toContain('Homepage');
  // A field ends at the first line that does not begin with a blank.
  expect(text).toMatch(/\nDescription: \S.*\n( .*\n)+$/);
});

test('the changelog of the package names the version, its maintainer and the time of the commit', () => {
  expect(debianChangelog({ version: '1.0.0', maintainer: MAINTAINER, epoch: 0 })).toMatch(
    /^gw \(1\.0\.0-1\) stable; urgency=medium\n\n {2}\* .*\n\n -- Ann <ann@gw\.example> {2}Thu, 01 Jan 1970 00:00:00 \+0000\n$/,
  );
});

test('checksums are of all files but the conffiles, sorted, links left out', () => {
  const root = join(dir, 'root');
  for (const [path, text] of Object.entries({
    'usr/lib/gw/b': 'b',
    'usr/lib/gw/a': 'a'.repeat(1025),
    'etc/gw/gateway.conf': '',
    'etc/logrotate.d/gw': '',
  })) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  symlinkSync('a', join(root, 'usr/lib/gw/link'));
  expect(md5sums(root)).toMatch(
    /^[0-9a-f]{32} {2}usr\/lib\/gw\/a\n92eb5ffee6ae2fec3ad71c777531578f {2}usr\/lib\/gw\/b\n$/,
  );
  expect(installedSizeKb(root)).toBe(3);
});

const NEEDED = ` 0x01 (NEEDED)  Shared library: [libc.so.6]
 0x01 (NEEDED)  Shared library: [libstdc++.so.6]
 0x01 (NEEDED)  Shared library: [ld-linux-aarch64.so.1]
  0x0010: Name: GLIBC_2.9  Flags: none  Version: 5
  0x0020: Name: GLIBC_2.34  Flags: none  Version: 6
  0x0030: Name: GLIBCXX_3.4.21  Flags: none  Version: 7
  0x0040: Name: GLIBCXX_3.4.29  Flags: none  Version: 8
`;

test('the package depends on the newest symbols that its programs use', () => {
  expect(dependsOn(NEEDED)).toEqual(['libc6 (>= 2.34)', 'libstdc++6 (>= 11)']);
});

test('a library of no known package is refused', () => {
  expect(() => dependsOn(' (NEEDED) Shared library: [libodd.so.1]')).toThrow(
    'no package is known for the library "libodd.so.1"',
  );
});

for (const name of ['postinst', 'prerm', 'postrm'])
  test(`${name} is a valid script for sh`, () => {
    expect(spawnSync('sh', ['-n', join(ROOT, 'conf/deploy/debian', name)]).status).toBe(0);
  });
