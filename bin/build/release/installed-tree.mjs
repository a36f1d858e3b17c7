import { cpSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { readJson, writeJson } from './json.mjs';
import { bundledLicenses } from './licenses.mjs';
import {
  installedPackages,
  isPinned,
  nameOfPath,
  notAsLocked,
  publishedManifest,
  shrinkwrap,
} from './manifest.mjs';
import { run } from './run.mjs';

/** The code that V8 has compiled, `chunk.js.v20.20.2-x64`: for exactly one version of Node.js. */
const V8_CODE = /\.js\.v[\d.]+-\w+$/;

/**
 * Writes the program without its packages into a directory: `dist` with the licenses of what is bundled and without
 * V8's code, `conf` without images, the texts, package.json and npm-shrinkwrap.json. `kind` (npm, deb, tarball, image)
 * is what `gw -V` calls the installation.
 */
export function stageFiles(release, directory, kind) {
  const { source, commit, epoch, version } = release;
  for (const name of ['dist', 'conf', 'README.md', 'LICENSE', 'CHANGELOG.md']) {
    const filter = (path) => belongs(relative(source, path));
    cpSync(join(source, name), join(directory, name), { recursive: true, filter });
  }
  const { manifest, lock } = readPackages(release);
  const bundled = readJson(join(source, 'dist/bundled.json'));
  writeFileSync(join(directory, 'dist/licenses.txt'), bundledLicenses(source, bundled, lock));
  const date = new Date(epoch * 1000).toISOString();
  writeJson(join(directory, 'dist/release.json'), { version, commit, date, kind });
  writeJson(join(directory, 'package.json'), manifest);
  writeJson(join(directory, 'npm-shrinkwrap.json'), shrinkwrap(manifest, lock, release));
}

/**
 * Writes `stageFiles`, and `node_modules` with the packages that have native code, for Linux on `arch` ("x64", "arm64").
 * `node` is a program of the version of Node.js that will run gw: npm installs the binary of uWebSockets.js for the
 * version that runs npm. Throws `MissingBinaries` if the registry lacks one, or the lock file its integrity.
 */
export async function stageProgram(release, directory, { arch, node, kind }) {
  const wanted = await binariesFor(release, arch, node);
  const refuse = (reason, paths) => {
    if (paths.length === 0) return;
    const names = [...new Set(paths.map(nameOfPath))];
    throw new MissingBinaries(`gw for ${arch} cannot be made: ${reason} ${names.join(', ')}`);
  };
  const unpinned = wanted.filter(([, locked]) => !isPinned(locked)).map(([path]) => path);
  refuse('the lock file has no sha512 "integrity" of', unpinned);
  mkdirSync(directory, { recursive: true });
  stageFiles(release, directory, kind);
  const npm = realpathSync((await run('which', ['npm'])).trim());
  const platform = ['--os=linux', `--cpu=${arch}`, '--libc=glibc'];
  await run(node, [npm, 'ci', '--omit=dev', '--ignore-scripts', '--prefer-offline', ...platform], {
    cwd: directory,
  });
  checkContent(directory);
  // npm does without an optional package that the registry does not have.
  const missing = wanted.map(([path]) => path).filter((path) => !existsSync(join(directory, path)));
  refuse('the registry does not have', missing);
}

/** Throws if npm has installed a package that it has not compared with the lock file. */
function checkContent(directory) {
  const { packages } = readJson(join(directory, 'node_modules/.package-lock.json'));
  const others = notAsLocked(packages, readJson(join(directory, 'npm-shrinkwrap.json')).packages);
  if (others.length > 0)
    throw new Error(`npm has not installed what the lock file says of ${others.join(', ')}`);
}

/** Thrown where npm's registry lacks native code for an architecture, or the lock file its integrity. */
class MissingBinaries extends Error {}

/**
 * Makes the artifacts of several architectures, and returns what `make` returns for each. A snapshot says which ones
 * lack native code, and leaves them out; a release fails.
 */
export async function forEachArchitecture(release, architectures, make) {
  const files = [];
  for (const architecture of architectures) {
    try {
      files.push(await make(architecture));
    } catch (error) {
      if (!(error instanceof MissingBinaries) || !release.isSnapshot) throw error;
      console.error(`left out: ${error.message}`);
    }
  }
  return files;
}

/** Returns the packages with native code for Linux on an architecture: pairs of path and what the lock file says. */
async function binariesFor(release, arch, node) {
  const major = (await run(node, ['-p', 'process.versions.node'])).split('.', 1)[0];
  const { manifest, lock } = readPackages(release);
  const uws = new RegExp(`@uwsjs/linux-${arch}-${major}$`);
  const wanted = Object.entries(installedPackages(manifest, lock)).filter(
    ([path]) =>
      uws.test(path) || path.endsWith(`/lmdb-linux-${arch}`) || path.endsWith(`/bcrypt-linux-${arch}-gnu`),
  );
  if (!wanted.some(([path]) => uws.test(path)))
    throw new Error(`uWebSockets.js has no binary for Node.js ${major}`);
  return wanted;
}

/** Returns the package.json that is published, and the lock file. */
export function readPackages(release) {
  const read = (name) => readJson(join(release.source, name));
  return { manifest: publishedManifest(read('package.json'), release), lock: read('package-lock.json') };
}

function belongs(path) {
  if (path === 'conf/images' || path === 'dist/built' || path === 'dist/bundled.json') return false;
  // A build of tools, of benches and tests, is no part of the program.
  if (dirname(path) === 'dist' && !['bin', 'console', 'src'].includes(basename(path))) return false;
  return !V8_CODE.test(path);
}
