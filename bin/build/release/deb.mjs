import { copyFileSync, cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { forEachArchitecture } from './installed-tree.mjs';
import { installedLicenses } from './licenses.mjs';
import { CONFFILES, controlFile, debianChangelog, installedSizeKb, md5sums } from './debian-files.mjs';
import { dependsOf } from './depends.mjs';
import { normalizeModes, stageLinuxProgram } from './linux-program.mjs';
import { run } from './run.mjs';

const ARCHITECTURES = { amd64: 'x64', arm64: 'arm64' };
const PROGRAM = 'usr/lib/gw';
const DOC = 'usr/share/doc/gw';
const SCRIPTS = ['postinst', 'prerm', 'postrm'];

/** What `include` finds beside /etc/gw/gateway.conf; the files are the package's, and change with it. */
const INCLUDED = [
  'mime.types',
  'fastcgi.conf',
  'fastcgi_params',
  'proxy_params',
  'scgi_params',
  'snippets/fastcgi-php.conf',
  'uwsgi_params',
];

/** Makes `gw_V-1_ARCH.deb` for both architectures. Needs dpkg-deb and binutils, not root. */
export async function make(release) {
  return forEachArchitecture(release, Object.keys(ARCHITECTURES), (each) => makeDeb(release, each));
}

async function makeDeb(release, architecture) {
  const root = await stageDeb(release, architecture);
  await writeControl(release, root, architecture);
  const file = join(release.out, `gw_${release.version}-1_${architecture}.deb`);
  await run('dpkg-deb', ['--root-owner-group', '-Zxz', '-z6', '--build', root, file]);
  return file;
}

/** Returns a directory with the files that the package of an architecture installs. */
export async function stageDeb(release, architecture) {
  const root = release.scratch(`deb-${architecture}`);
  await stageTree(release, root, architecture);
  return root;
}

async function stageTree(release, root, architecture) {
  const nodeLicense = await stageLinuxProgram(release, join(root, PROGRAM), {
    arch: ARCHITECTURES[architecture],
    kind: 'deb',
    path: `/${PROGRAM}`,
  });
  const deploy = join(release.source, 'conf/deploy');
  link(root, 'usr/bin/gw', '../lib/gw/dist/bin/gw.js');
  copy(join(deploy, 'gw.service'), root, 'usr/lib/systemd/system/gw.service');
  copy(join(deploy, 'debian/unit.ini'), root, 'usr/lib/systemd/system/gw.service.d/debian.conf');
  copy(join(deploy, 'gw.logrotate'), root, 'etc/logrotate.d/gw');
  copy(join(deploy, 'debian/gateway.conf'), root, 'etc/gw/gateway.conf');
  for (const name of INCLUDED) link(root, `etc/gw/${name}`, `/${PROGRAM}/conf/${name}`);
  await writeShell(release, root);
  await writeTexts(release, root, nodeLicense);
  await normalizeModes(root);
}

/** Completion and the manual, which the program itself prints. */
async function writeShell({ source }, root) {
  const gw = (...args) => run(process.execPath, [join(source, 'dist/bin/gw.js'), ...args]);
  const scripts = {
    bash: 'usr/share/bash-completion/completions/gw',
    zsh: 'usr/share/zsh/vendor-completions/_gw',
    fish: 'usr/share/fish/vendor_completions.d/gw.fish',
  };
  for (const [shell, path] of Object.entries(scripts)) write(root, path, await gw('completion', shell));
  const pages = join(root, 'pages');
  await gw('manpage', '-o', pages);
  for (const page of readdirSync(pages).sort()) {
    const path = `usr/share/man/man${page.at(-1)}/${page}`;
    copy(join(pages, page), root, path);
    await run('gzip', ['-9n', join(root, path)]);
  }
  await run('rm', ['-r', pages]);
}

async function writeTexts(release, root, nodeLicense) {
  copy(join(release.source, 'conf/deploy/debian/copyright'), root, `${DOC}/copyright`);
  write(root, `${DOC}/licenses`, installedLicenses(release, nodeLicense));
  copyFileSync(join(release.source, 'CHANGELOG.md'), join(root, DOC, 'changelog'));
  write(root, `${DOC}/changelog.Debian`, debianChangelog(release));
  for (const name of ['changelog', 'changelog.Debian', 'licenses'])
    await run('gzip', ['-9n', join(root, DOC, name)]);
  for (const name of ['examples', 'guide']) link(root, `${DOC}/${name}`, `../../../lib/gw/conf/${name}`);
  for (const name of ['grafana', 'prometheus'])
    link(root, `${DOC}/${name}`, `../../../lib/gw/conf/deploy/${name}`);
  copy(join(release.source, 'conf/deploy/debian/lintian-overrides'), root, 'usr/share/lintian/overrides/gw');
}

async function writeControl(release, root, architecture) {
  const sums = md5sums(root);
  write(root, 'DEBIAN/control', await controlOf(release, root, architecture));
  write(root, 'DEBIAN/md5sums', sums);
  write(root, 'DEBIAN/conffiles', CONFFILES.map((path) => `${path}\n`).join(''));
  const control = join(root, 'DEBIAN');
  for (const script of SCRIPTS)
    cpSync(join(release.source, 'conf/deploy/debian', script), join(control, script));
  await normalizeModes(control);
}

/** Returns the file `control` of a package whose files are in a directory. */
export async function controlOf(release, root, architecture) {
  return controlFile({
    ...release,
    architecture,
    depends: await dependsOf(join(root, PROGRAM)),
    sizeKb: installedSizeKb(root),
    homepage: release.repository,
  });
}

function copy(from, root, path) {
  copyFileSync(from, roomFor(root, path));
}

function write(root, path, text) {
  writeFileSync(roomFor(root, path), text);
}

/** Makes a symbolic link at a path below a directory. */
export function link(root, path, target) {
  symlinkSync(target, roomFor(root, path));
}

/** Makes the directory for a file below another one. Returns the path of the file. */
function roomFor(root, path) {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  return file;
}
