import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.mjs';

/**
 * The Node.js of the artifacts that bring one: the newest line for which a build of uWebSockets.js wants no newer glibc
 * than Debian 12 and Ubuntu 22.04 have.
 */
export const NODE_VERSION = '22.23.3';

/** `process.versions.modules` of it: the version of native code that is for it alone. */
export const NODE_ABI = '127';

/** What `npm view node-linux-ARCH@VERSION dist.integrity` says. */
const INTEGRITY = {
  x64: 'sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
  arm64: 'sha512-l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==',
};

const TRIPLETS = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };

const fetched = new Map();

/**
 * Fetches Node.js for an architecture. Returns the paths of its `program` without debug symbols and of its `license`.
 * Throws if the package has not the content that is expected.
 */
export function fetchNode(release, arch) {
  if (!fetched.has(arch)) fetched.set(arch, unpackNode(arch, release.scratch(`node-${arch}`)));
  return fetched.get(arch);
}

async function unpackNode(arch, directory) {
  const name = `node-linux-${arch}`;
  const spec = `${name}@${NODE_VERSION}`;
  await run('npm', ['pack', '--prefer-offline', '--pack-destination', directory, spec]);
  const archive = join(directory, `${name}-${NODE_VERSION}.tgz`);
  const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (found !== INTEGRITY[arch]) throw new Error(`${spec} has the content ${found}, not ${INTEGRITY[arch]}`);
  await run('tar', ['-xzf', archive, '-C', directory, 'package/bin/node', 'package/LICENSE']);
  mkdirSync(join(directory, 'bin'));
  const program = join(directory, 'bin/node');
  await strip(arch, join(directory, 'package/bin/node'), program);
  return { program, license: join(directory, 'package/LICENSE') };
}

/** Copies a program or library without its debug symbols; both paths may be the same. */
export async function strip(arch, from, to) {
  const program = arch === process.arch ? 'strip' : `${TRIPLETS[arch]}-strip`;
  await run(program, ['--strip-unneeded', '-o', to, from]).catch((error) => {
    if (error.cause?.code !== 'ENOENT') throw error;
    const wanted = arch === process.arch ? 'binutils' : `binutils-${TRIPLETS[arch].replace('_', '-')}`;
    throw new Error(`${program} is missing, apt has it in ${wanted}`, { cause: error });
  });
}
