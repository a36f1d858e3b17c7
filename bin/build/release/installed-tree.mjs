import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { licenseTexts } from './bundled-licenses.mjs';
import { publishedManifest, shrinkwrap } from './manifest.mjs';
import { run } from './run.mjs';

/** The code that V8 has compiled, `chunk.js.v20.20.2-x64`: for exactly one version of Node.js. */
const V8_CODE = /\.js\.v[\d.]+-\w+$/;

/**
 * Writes the program without its packages into a directory: `dist` with the licences of what is bundled, `conf` without
 * images, the texts, package.json and npm-shrinkwrap.json. `kind` (npm, deb, tarball, image) is what `gw -V` calls the installation. V8's code is left out
 * unless it is wanted.
 */
export function stageFiles(release, directory, { kind, v8Code = false }) {
  const { source, commit, epoch, version } = release;
  for (const name of ['dist', 'conf', 'README.md', 'LICENSE', 'CHANGELOG.md']) {
    const isWanted = (path) => belongs(relative(source, path), v8Code);
    cpSync(join(source, name), join(directory, name), { recursive: true, filter: isWanted });
  }
  const lock = readJson(join(source, 'package-lock.json'));
  const bundled = readJson(join(source, 'dist/bundled.json'));
  writeFileSync(join(directory, 'dist/licenses.txt'), licenseTexts(source, bundled, lock));
  const date = new Date(epoch * 1000).toISOString();
  writeJson(join(directory, 'dist/release.json'), { version, commit, date, kind });
  const manifest = publishedManifest(readJson(join(source, 'package.json')), release);
  writeJson(join(directory, 'package.json'), manifest);
  writeJson(join(directory, 'npm-shrinkwrap.json'), shrinkwrap(manifest, lock));
}

/**
 * Writes what every artifact but the site installs: `stageFiles`, and `node_modules` with the packages that have native
 * code, for Linux on `arch` ("x64", "arm64"). `node` is a program of the version of Node.js that will run gw: npm
 * installs the binary of uWebSockets.js for the version that runs npm. Throws `MissingBinaries` if the registry lacks one.
 */
export async function stageProgram(
  release,
  directory,
  { arch = process.arch, node = process.execPath, ...options },
) {
  mkdirSync(directory, { recursive: true });
  stageFiles(release, directory, options);
  const npm = realpathSync((await run('which', ['npm'])).trim());
  const platform = ['--os=linux', `--cpu=${arch}`, '--libc=glibc'];
  await run(node, [npm, 'ci', '--omit=dev', '--ignore-scripts', '--prefer-offline', ...platform], {
    cwd: directory,
  });
  const missing = await missingBinaries(directory, arch, node);
  if (missing.length > 0)
    throw new MissingBinaries(
      `gw for ${arch} cannot be made: the registry does not have ${missing.join(', ')}`,
    );
}

/** Thrown where npm's registry lacks native code for an architecture. */
class MissingBinaries extends Error {}

/**
 * Makes the artifacts of several architectures, and returns what `make` returns for each. A snapshot says which ones
 * npm's registry has no native code for, and leaves them out; a release fails.
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

/** npm does without an optional package that the registry does not have; what is installed has to be complete. */
async function missingBinaries(directory, arch, node) {
  const major = (await run(node, ['-p', 'process.versions.node'])).split('.', 1)[0];
  const { packages } = readJson(join(directory, 'npm-shrinkwrap.json'));
  const uws = new RegExp(`@uwsjs/linux-${arch}-${major}$`);
  const wanted = Object.keys(packages).filter(
    (path) =>
      uws.test(path) || path.endsWith(`/lmdb-linux-${arch}`) || path.endsWith(`/bcrypt-linux-${arch}-gnu`),
  );
  if (!wanted.some((path) => uws.test(path)))
    throw new Error(`uWebSockets.js has no binary for Node.js ${major}`);
  return wanted.filter((path) => !existsSync(join(directory, path))).map(nameOfPath);
}

function nameOfPath(path) {
  return `"${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}"`;
}

function belongs(path, v8Code) {
  if (path === 'conf/images' || path === 'dist/built' || path === 'dist/bundled.json') return false;
  // A build of tools, of benches and tests, is no part of the program.
  if (dirname(path) === 'dist' && !['bin', 'console', 'src'].includes(basename(path))) return false;
  return v8Code || !V8_CODE.test(path);
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, undefined, 2)}\n`);
}
