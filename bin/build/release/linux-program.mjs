import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { nodeComponent } from './components.mjs';
import { NODE_ABI, fetchNode, strip } from './node.mjs';
import { stageProgram } from './installed-tree.mjs';
import { readJson, writeJson } from './json.mjs';
import { run } from './run.mjs';

/** Starts the program in the directory of this file, whatever the link is called by which it is found. */
const ANYWHERE = `#!/bin/sh
':' //; exec "$(dirname "$(readlink -f "$0")")/../../bin/node" "$0" "$@"`;

const staged = new Map();

/**
 * Writes gw and its Node.js, `bin/node`, into a directory. `path` is the one it will have; without it, it works
 * anywhere. V8's code is made if this machine can run the program. Returns the license of Node.js.
 */
export async function stageLinuxProgram(release, directory, { arch, kind, path }) {
  if (!staged.has(arch)) staged.set(arch, stageOnce(release, arch));
  mkdirSync(dirname(directory), { recursive: true });
  await run('cp', ['-a', await staged.get(arch), directory]);
  setKind(directory, kind);
  const command = join(directory, 'dist/bin/gw.js');
  const text = readFileSync(command, 'utf8');
  writeFileSync(
    command,
    text.replace(/^#!.*/, () => (path ? `#!${path}/bin/node` : ANYWHERE)),
  );
  return (await fetchNode(release, arch)).license;
}

/** Changes how `gw -V` calls the installation. */
export function setKind(directory, kind) {
  const file = join(directory, 'dist/release.json');
  writeJson(file, { ...readJson(file), kind });
}

async function stageOnce(release, arch) {
  const directory = join(release.scratch(`program-${arch}`), 'gw');
  const own = await fetchNode(release, process.arch);
  release.components.push(
    nodeComponent(JSON.parse(await run(own.program, ['-p', 'JSON.stringify(process.versions)']))),
  );
  // Each artifact sets its own kind.
  await stageProgram(release, directory, { kind: 'tarball', arch, node: own.program });
  const node = await fetchNode(release, arch);
  mkdirSync(join(directory, 'bin'));
  copyFileSync(node.program, join(directory, 'bin/node'));
  const modules = join(directory, 'node_modules');
  await removeUnused(modules);
  for (const file of filesBelow(modules, '.node')) await strip(arch, file, file);
  if (arch === process.arch) await recordV8Code(release, directory, own.program);
  await normalizeModes(directory);
  return directory;
}

/** What gw loads, and what has to be kept with it; binaries for this version of Node.js and for glibc. */
function isUsed(name) {
  if (name.endsWith('.node'))
    return !name.includes('.musl.') && [NODE_ABI, undefined].includes(/\.abi(\d+)\./.exec(name)?.[1]);
  return /\.([cm]?js|json)$|^(license|copying|copyright)/i.test(name);
}

/** Programs that fetch or build native code when a package is installed. */
const INSTALLERS = [
  'lmdb/bin',
  'msgpackr-extract/bin',
  ...['bin', 'build-test', 'optional'].map((name) => `node-gyp-build-optional-packages/${name}.js`),
];

/** Removes sources, and binaries for other versions of Node.js and for musl. */
async function removeUnused(modules) {
  // uWebSockets.js has a binary for this Node.js; that of the newer build wants a newer glibc.
  rmSync(join(modules, 'uWebSockets.js-node24'), { recursive: true, force: true });
  // Headers, for compiling.
  rmSync(join(modules, 'node-addon-api'), { recursive: true, force: true });
  for (const path of INSTALLERS) rmSync(join(modules, path), { recursive: true, force: true });
  for (const file of filesBelow(modules)) if (!isUsed(basename(file))) rmSync(file);
  await run('find', [modules, '-type', 'd', '-empty', '-delete']);
  // Nothing in it is started as a program.
  await run('find', [modules, '-type', 'f', '-exec', 'chmod', '644', '{}', '+']);
}

function filesBelow(directory, suffix = '') {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory() && entry.name.endsWith(suffix));
  return files.map((entry) => join(entry.parentPath, entry.name));
}

/** Keeps the code that this Node.js compiles; the build ran another one. */
async function recordV8Code({ source }, directory, node) {
  // The recorder keeps code in the tree that it is in.
  const recorder = join(directory, 'bin/build');
  cpSync(join(source, 'bin/build'), recorder, { recursive: true });
  const script = `import { recordCode } from ${JSON.stringify(join(recorder, 'record.mjs'))};
    await recordCode(process.argv.slice(1));`;
  const chunks = readdirSync(join(directory, 'dist/src/chunks')).filter((name) => name.endsWith('.js'));
  const files = chunks.map((name) => `dist/src/chunks/${name}`);
  await run(node, ['--input-type=module', '-e', script, ...files], {
    cwd: directory,
    env: { PATH: process.env.PATH, HOME: directory, GW_BUILD_RELATIVE: '1' },
  });
  rmSync(recorder, { recursive: true });
}

/** Sets 755 for directories and for what can be executed, 644 for the rest, whatever the umask was. */
export async function normalizeModes(directory) {
  await run('chmod', ['-R', 'u=rwX,go=rX', directory]);
}
