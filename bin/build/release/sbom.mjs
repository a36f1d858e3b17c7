import { createHash } from 'node:crypto';
import { locate, packageName } from './manifest.mjs';

const inOrder = (one, other) => (one < other ? -1 : 1);

/**
 * Returns the bill of materials (CycloneDX 1.5): the packages whose code is in `dist`, and those that are installed
 * beside it on some platform. `bundled` are paths of the lock file, `installed` is npm-shrinkwrap.json, and `components`
 * are what single artifacts contain besides.
 */
export function billOfMaterials({ manifest, lock, bundled, installed, commit, epoch, components }) {
  const { packages } = lock;
  const own = Object.keys(installed.packages).filter((path) => path !== '');
  const paths = [...new Set([...bundled, ...own])].sort(inOrder);
  const isBundled = new Set(bundled);
  const added = uniqueByRef(components);
  const root = purl(manifest.name, manifest.version);
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${uuidOf(`${root} ${commit}`)}`,
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      component: {
        type: 'application',
        'bom-ref': root,
        name: manifest.name,
        version: manifest.version,
        purl: root,
        ...licensesOf(manifest),
      },
      properties: [{ name: 'gw:commit', value: commit }],
    },
    components: [
      ...uniqueByRef(paths.map((path) => component(path, packages[path], isBundled.has(path)))),
      ...added,
    ],
    dependencies: [
      { ref: root, dependsOn: [...refsOf(paths, packages), ...added.map((each) => each['bom-ref'])] },
      ...uniqueByRef(paths.map((path) => needs(path, paths, packages))),
    ],
  };
}

function needs(path, paths, packages) {
  return {
    ref: refOf(path, packages[path]),
    dependsOn: refsOf(neededBy(path, paths, packages), packages),
  };
}

function refsOf(paths, packages) {
  return [...new Set(paths.map((path) => refOf(path, packages[path])))].sort(inOrder);
}

function component(path, locked, isBundled) {
  const name = locked.name ?? packageName(path);
  const reference = refOf(path, locked);
  return {
    type: 'library',
    'bom-ref': reference,
    name,
    version: locked.version,
    purl: reference,
    // A package for one platform only.
    scope: locked.optional && !isBundled ? 'optional' : 'required',
    ...(locked.integrity && { hashes: [{ alg: 'SHA-512', content: hexOf(locked.integrity) }] }),
    ...licensesOf(locked),
    ...(UWS_BINARY.test(name) && { components: [boringssl(reference)] }),
    properties: [{ name: 'gw:contained', value: isBundled ? 'bundled' : 'installed' }],
  };
}

/** The packages with a binary of uWebSockets.js for one platform. */
const UWS_BINARY = /^@uwsjs\/(?:darwin|linux|win32)-/;

/** The TLS library in a binary of uWebSockets.js. It has no versions, and the binary does not say which revision it has. */
function boringssl(binary) {
  return {
    type: 'library',
    'bom-ref': `${binary}#boringssl`,
    name: 'boringssl',
    purl: 'pkg:generic/boringssl',
    cpe: 'cpe:2.3:a:google:boringssl:-:*:*:*:*:*:*:*',
  };
}

/** The packages of the list that a package finds when it asks for its dependencies. */
function neededBy(path, paths, packages) {
  const { dependencies, optionalDependencies } = packages[path];
  const found = Object.keys({ ...dependencies, ...optionalDependencies }).map((name) =>
    locate(packages, path, name),
  );
  return found.filter((each) => paths.includes(each));
}

function uniqueByRef(list) {
  return [...new Map(list.map((each) => [each['bom-ref'] ?? each.ref, each])).values()];
}

function licensesOf({ license }) {
  if (license === undefined) return {};
  return { licenses: [/[ (]/.test(license) ? { expression: license } : { license: { id: license } }] };
}

function refOf(path, locked) {
  return purl(locked.name ?? packageName(path), locked.version);
}

/** The URL of a package (purl specification, type npm). */
function purl(name, version) {
  return `pkg:npm/${name.replace('@', '%40')}@${version.replaceAll('+', '%2B')}`;
}

function hexOf(integrity) {
  return Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex');
}

/** The same UUID for the same text (RFC 9562, version 8). */
function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
