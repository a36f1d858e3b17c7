import { NATIVE } from '../native.mjs';

/** Fields of package.json that are published as they are. */
const KEPT = ['name', 'version', 'description', 'license', 'repository', 'type', 'engines', 'sideEffects'];

/** What the published package has beside package.json, which npm adds. */
export const FILES = ['dist', 'conf', 'README.md', 'LICENSE', 'CHANGELOG.md', 'npm-shrinkwrap.json'];

/**
 * Returns the package.json that is published: of the dependencies only those with native code, since the build bundles
 * the others; no scripts. `name` and `repository` (a URL) replace those of the checkout.
 */
export function publishedManifest(manifest, { name, repository } = {}) {
  const isNative = ([dependency]) => NATIVE.includes(dependency);
  const only = (dependencies = {}) => Object.fromEntries(Object.entries(dependencies).filter(isNative));
  return {
    ...Object.fromEntries(KEPT.flatMap((key) => (manifest[key] === undefined ? [] : [[key, manifest[key]]]))),
    ...(name && { name }),
    ...(repository && { repository: { type: 'git', url: repository } }),
    os: ['linux', 'darwin'],
    bin: { gw: 'dist/bin/gw.js' },
    files: FILES,
    dependencies: only(manifest.dependencies),
    optionalDependencies: only(manifest.optionalDependencies),
    publishConfig: { access: 'public', provenance: true },
  };
}

/**
 * Returns npm-shrinkwrap.json for a published package.json: what the lock file says of all that it installs. Throws if
 * the lock file has no SHA-512 of a package. A snapshot does without optional packages for one platform that lack it.
 */
export function shrinkwrap(published, lock, { isSnapshot = false } = {}) {
  const { name, version, license, engines, os, bin, dependencies, optionalDependencies } = published;
  const root = { name, version, license, os, bin, dependencies, optionalDependencies, engines };
  const locked = installedPackages(published, lock);
  const unpinned = Object.keys(locked).filter((path) => !isPinned(locked[path]));
  const refused = unpinned.filter((path) => !isSnapshot || !isForOnePlatform(locked[path]));
  if (refused.length > 0)
    throw new Error(
      `the lock file has no sha512 "integrity" of ${refused.map(nameOfPath).join(', ')}; CONTRIBUTING.md, Dependencies, says where it comes from`,
    );
  const pinned = Object.keys(locked).filter((path) => isPinned(locked[path]));
  const packages = Object.fromEntries(pinned.map((path) => [path, withoutUnpinned(path, locked)]));
  return {
    name,
    version,
    lockfileVersion: lock.lockfileVersion,
    requires: true,
    packages: { '': root, ...packages },
  };
}

/** Returns what the lock file says of all packages that a published package.json installs on some platform, by path. */
export function installedPackages(published, lock) {
  const packages = { '': published };
  const waiting = ['']; // paths whose dependencies are to be added
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const { dependencies: needed, optionalDependencies: wanted } = packages[path];
    for (const dependency of Object.keys({ ...needed, ...wanted })) {
      const found = locate(lock.packages, path, dependency);
      if (found === undefined)
        throw new Error(`the lock file lacks "${dependency}", which ${path || published.name} needs`);
      if (packages[found]) continue;
      packages[found] = lock.packages[found];
      waiting.push(found);
    }
  }
  const { '': _published, ...found } = packages;
  return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Whether npm compares a package's content with the lock file's: it takes anything for one without `integrity`. */
export function isPinned({ integrity = '' }) {
  return /^sha512-[\w+/]{86}==$/.test(integrity);
}

/** Returns those of the packages that npm has installed, by path, whose content is not what `locked` says. */
export function notAsLocked(installed, locked) {
  const isOther = (path) =>
    !isPinned(installed[path]) || installed[path].integrity !== locked[path]?.integrity;
  return Object.keys(installed).filter(isOther).map(nameOfPath);
}

/** Returns the name of a package for a message: "lmdb" of node_modules/lmdb. */
export function nameOfPath(path) {
  return `"${packageName(path)}"`;
}

/** Returns the name under which the package at a path of the lock file is imported. */
export function packageName(path) {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

/** A package without those dependencies that are left out: npm would fetch them, or refuse the file. */
function withoutUnpinned(path, locked) {
  const { optionalDependencies } = locked[path];
  if (optionalDependencies === undefined) return locked[path];
  const kept = Object.entries(optionalDependencies).filter(([name]) =>
    isPinned(locked[locate(locked, path, name)]),
  );
  return { ...locked[path], optionalDependencies: Object.fromEntries(kept) };
}

function isForOnePlatform({ optional, os, cpu }) {
  return Boolean(optional && os && cpu);
}

/** Returns the path in the lock file of what `require(name)` finds in the package at `path`. */
export function locate(packages, path, name) {
  for (let above = path; ; above = above.slice(0, Math.max(0, above.lastIndexOf('/node_modules/')))) {
    const found = `${above}${above && '/'}node_modules/${name}`;
    if (packages[found]) return found;
    if (above === '') return undefined;
  }
}
