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

/** Returns npm-shrinkwrap.json for a published package.json: what the lock file says of all that it installs. */
export function shrinkwrap(published, lock) {
  const { name, version, license, engines, os, bin, dependencies, optionalDependencies } = published;
  const root = { name, version, license, os, bin, dependencies, optionalDependencies, engines };
  const packages = { '': root };
  const waiting = ['']; // paths whose dependencies are to be added
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const { dependencies: needed, optionalDependencies: wanted } = packages[path];
    for (const dependency of Object.keys({ ...needed, ...wanted })) {
      const found = locate(lock.packages, path, dependency);
      if (found === undefined)
        throw new Error(`the lock file lacks "${dependency}", which ${path || name} needs`);
      if (packages[found]) continue;
      packages[found] = lock.packages[found];
      waiting.push(found);
    }
  }
  const sorted = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { name, version, lockfileVersion: lock.lockfileVersion, requires: true, packages: sorted };
}

/** Returns the path in the lock file of what `require(name)` finds in the package at `path`. */
export function locate(packages, path, name) {
  for (let above = path; ; above = above.slice(0, Math.max(0, above.lastIndexOf('/node_modules/')))) {
    const place = `${above}${above && '/'}node_modules/${name}`;
    if (packages[place]) return place;
    if (above === '') return undefined;
  }
}
