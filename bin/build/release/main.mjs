/** `npm run release`: makes the artifacts of the current commit. A person publishes them. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { sha256 } from './archive.mjs';
import { buildCommit, readCommit, releasedVersion } from './checkout.mjs';
import { readPackages } from './installed-tree.mjs';
import { readJson, writeJson } from './json.mjs';
import { installedPackages, nameOfPath, shrinkwrap } from './manifest.mjs';
import { provenance } from './provenance.mjs';
import { billOfMaterials } from './sbom.mjs';
import { hashesOf, readKey, writeSums } from './sums.mjs';

/** The artifacts, each made by the file of its name. */
const ARTIFACTS = ['npm', 'deb', 'tar', 'image', 'vsix', 'site'];
const USAGE = `usage: npm run release -- --out DIR [--only ${ARTIFACTS.join(',')}] [--snapshot] [--name NAME] [--repository URL]`;

const root = fileURLToPath(new URL('../../..', import.meta.url));

async function main() {
  const options = { ...readOptions(), key: readKey(process.env.GW_RELEASE_KEY) };
  const facts = await readCommit(root);
  const version = releasedVersion(facts, options.snapshot);
  const scratch = mkdtempSync(join(tmpdir(), 'gw-release-'));
  const clean = () => rmSync(scratch, { recursive: true, force: true });
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => {
      clean();
      process.exit(1);
    });
  try {
    await release({ ...options, ...facts, version, scratch });
  } finally {
    clean();
  }
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      out: { type: 'string' },
      only: { type: 'string' },
      snapshot: { type: 'boolean', default: false },
      name: { type: 'string' },
      repository: { type: 'string' },
    },
  });
  if (values.out === undefined) throw new Error(`--out is missing\n${USAGE}`);
  const wanted = values.only?.split(',') ?? ARTIFACTS.filter(hasMaker);
  const unknown = wanted.find((artifact) => !ARTIFACTS.includes(artifact) || !hasMaker(artifact));
  if (unknown !== undefined) throw new Error(`there is no artifact "${unknown}"\n${USAGE}`);
  return { ...values, wanted };
}

function hasMaker(artifact) {
  return existsSync(new URL(`${artifact}.mjs`, import.meta.url));
}

async function release({ scratch, wanted, snapshot: isSnapshot, key, ...facts }) {
  process.env.SOURCE_DATE_EPOCH = String(facts.epoch);
  const out = resolve(facts.out);
  mkdirSync(out, { recursive: true });
  const source = join(scratch, 'source');
  const commands = await timed('build', () => buildCommit({ ...facts, root, isSnapshot }, source));
  const given = {
    ...facts,
    out,
    source,
    isSnapshot,
    scratch: (name) => mkdtempSync(join(scratch, `${name}-`)),
    // What a maker adds to its artifact besides packages of npm, as components of CycloneDX.
    components: [],
  };
  const packages = publishedPackages(given);
  const files = [];
  for (const artifact of wanted) {
    const { make } = await import(`./${artifact}.mjs`);
    files.push(...(await timed(artifact, () => make(given), listFiles)));
  }
  files.push(writeBill(given, packages));
  const stated = { ...given, wanted, isSnapshot, commands, subjects: await hashesOf(out, files) };
  const lockHash = await sha256(join(source, 'package-lock.json'));
  files.push(writeJson(join(out, 'provenance.json'), provenance({ ...stated, lockHash })));
  writeSums(out, await hashesOf(out, files), key);
}

/** Returns what is published of the packages, before anything is made of it, and says what a snapshot leaves out. */
function publishedPackages(given) {
  const { manifest, lock } = readPackages(given);
  const installed = shrinkwrap(manifest, lock, given);
  const all = Object.keys(installedPackages(manifest, lock));
  const leftOut = all.filter((path) => installed.packages[path] === undefined).map(nameOfPath);
  if (leftOut.length > 0)
    console.error(
      `left out of npm-shrinkwrap.json, for lack of "integrity" in the lock file: ${leftOut.join(', ')}`,
    );
  return { lock, manifest, installed };
}

function writeBill(given, packages) {
  const { out, source, version } = given;
  const bundled = readJson(join(source, 'dist/bundled.json'));
  const bill = billOfMaterials({ ...given, ...packages, bundled });
  return writeJson(join(out, `gw-${version}.cdx.json`), bill);
}

async function timed(what, act, show = () => undefined) {
  const startMs = performance.now();
  const result = await act();
  console.error(`${what}: ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
  show(result);
  return result;
}

function listFiles(files) {
  for (const file of files) console.error(`  ${relative(process.cwd(), file)}  ${statSync(file).size} bytes`);
}

main().catch(({ message }) => {
  console.error(`release: ${message}`);
  process.exitCode = 1;
});
