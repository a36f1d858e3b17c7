/** Run by mmdebstrap for the lowest layer of the image: makes a system of the Debian packages that have been extracted. */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/** What scripts in /docker-entrypoint.d and a person in the container may need; all are busybox. */
const PROGRAMS = `sh ash awk base64 basename cat chgrp chmod chown clear cmp cp cut date dd df diff dirname du echo env expr false find
fold grep egrep fgrep gunzip gzip head hexdump hostname id install kill less ln ls md5sum mkdir mkfifo mktemp more mv nc netstat
nohup nproc nslookup od pgrep pidof ping printf ps pwd readlink realpath rm rmdir sed seq sha256sum sleep sort stat stty sync
tail tar tee test time timeout top touch tr true tty uname uniq unzip vi watch wc wget which whoami xargs yes zcat`;

/** Directories and files that nothing in the image reads. */
const UNUSED = `boot etc/fstab etc/hostname etc/issue etc/issue.net etc/resolv.conf etc/ca-certificates etc/default
etc/dpkg etc/profile.d etc/skel etc/update-motd.d home media mnt opt srv usr/bin/tini-static
usr/games usr/include usr/local usr/sbin/update-ca-certificates usr/share/base-files
usr/share/bash-completion usr/share/bug usr/share/dict usr/share/gcc usr/share/gdb usr/share/info
usr/share/initramfs-tools usr/share/lintian usr/share/man usr/share/misc usr/share/perl5
usr/share/pixmaps usr/src var/backups`;

const OWNED = [
  'run',
  'etc/gw/conf.d',
  'var/cache/gw',
  'var/cache/nginx',
  'var/lib/gw',
  'var/log/gw',
  'var/log/nginx',
];

/** The account that serves is `id:id`. */
const [, , root, server, id, ...PACKAGES] = process.argv;
const ACCOUNT = Number(id);

recordPackages();
for (const path of UNUSED.split(/\s+/)) remove(path);
for (const triplet of readdirSync(join(root, 'usr/lib')).filter((name) => name.endsWith('-linux-gnu')))
  remove(`usr/lib/${triplet}/gconv`);
for (const name of PROGRAMS.split(/\s+/)) link(`usr/bin/${name}`, 'busybox');
trustCertificates();
addAccounts();
link('etc/nginx', 'gw');
// What a script of base-files does.
for (const [name, target] of [
  ['run', '/run'],
  ['lock', '/run/lock'],
]) {
  remove(`var/${name}`);
  link(`var/${name}`, target);
}
for (const path of OWNED) mkdirSync(join(root, path), { recursive: true, mode: 0o755 });
// As in nginx's image, whose configuration names these files.
for (const directory of ['var/log/gw', 'var/log/nginx']) {
  link(`${directory}/access.log`, '/dev/stdout');
  link(`${directory}/error.log`, '/dev/stderr');
}
copyFileSync(server, join(root, 'etc/gw/conf.d/default.conf'));
for (const path of OWNED) chownSync(join(root, path), ACCOUNT, ACCOUNT);

/**
 * Removes the files of packages that only dpkg's scripts would need, and describes the others where scanners find those of
 * images that were extracted, not installed.
 */
function recordPackages() {
  const archives = join(root, 'var/cache/apt/archives');
  const debs = readdirSync(archives).filter((name) => name.endsWith('.deb'));
  const described = new Map();
  for (const deb of debs.map((name) => join(archives, name))) {
    const name = said('dpkg-deb', '-f', deb, 'Package').trim();
    if (PACKAGES.includes(name)) described.set(name, said('dpkg-deb', '-f', deb));
    else removeFilesOf(deb);
  }
  const missing = PACKAGES.filter((name) => !described.has(name));
  if (missing.length > 0) throw new Error(`mmdebstrap has not extracted ${missing.join(', ')}`);
  remove('var/lib/dpkg');
  mkdirSync(join(root, 'var/lib/dpkg/status.d'), { recursive: true });
  for (const [name, text] of described) writeFileSync(join(root, 'var/lib/dpkg/status.d', name), text);
}

function removeFilesOf(deb) {
  const names = said('sh', '-c', 'dpkg-deb --fsys-tarfile "$1" | tar -t', 'sh', deb).split('\n');
  for (const name of names) if (name && !name.endsWith('/')) remove(name);
}

function said(program, ...args) {
  return execFileSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 26 });
}

function remove(path) {
  rmSync(join(root, path), { recursive: true, force: true });
}

function link(path, target) {
  const file = join(root, path);
  if (existsSync(file)) return;
  mkdirSync(dirname(file), { recursive: true });
  symlinkSync(target, file);
}

/** What `update-ca-certificates` writes. */
function trustCertificates() {
  const directory = join(root, 'usr/share/ca-certificates/mozilla');
  const texts = readdirSync(directory)
    .sort()
    .map((name) => readFileSync(join(directory, name), 'utf8'));
  mkdirSync(join(root, 'etc/ssl/certs'), { recursive: true });
  writeFileSync(join(root, 'etc/ssl/certs/ca-certificates.crt'), texts.join(''));
}

function addAccounts() {
  const ids = { root: 0, nobody: 65534, gw: ACCOUNT };
  const homes = { root: '/root', nobody: '/nonexistent', gw: '/var/lib/gw' };
  for (const [name, id] of Object.entries(ids)) {
    const shell = name === 'root' ? '/bin/sh' : '/usr/sbin/nologin';
    appendFileSync(join(root, 'etc/passwd'), `${name}:*:${id}:${id}:${name}:${homes[name]}:${shell}\n`);
    appendFileSync(join(root, 'etc/group'), `${name === 'nobody' ? 'nogroup' : name}:*:${id}:\n`);
  }
  writeFileSync(join(root, 'etc/nsswitch.conf'), 'passwd: files\ngroup: files\nhosts: files dns\n');
}
