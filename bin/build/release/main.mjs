/** `npm run release`: makes the artifacts of the current commit. A person publishes them. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { sha256 } from './archive.mjs';
import { buildCommit, readCommit, releasedVersion } from './checkout.mjs';

/** The artifacts, each made by the file of its name. */
const ARTIFACTS = ['npm', 'deb', 'tar', 'image', 'vsix', 'site'];
const USAGE = `usage: npm run release -- --out DIR [--only ${ARTIFACTS.join(',')}] [--snapshot] [--name NAME] [--repository URL]`;

const root = fileURLToPath(new URL('../../..', import.meta.url));

async function main() {
  const options = readOptions();
  const facts = await readCommit(root);
  const version = releasedVersion(facts, options.snapshot);
  const scratch = mkdtempSync(join(tmpdir(), 'gw-release-'));
  try {
    await release({ ...options, ...facts, version, scratch });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
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

async function release({ scratch, wanted, snapshot, ...facts }) {
  process.env.SOURCE_DATE_EPOCH = String(facts.epoch);
  const out = resolve(facts.out);
  mkdirSync(out, { recursive: true });
  const source = join(scratch, 'source');
  await timed('build', () => buildCommit({ ...facts, root, isSnapshot: snapshot }, source));
  const given = {
    ...facts,
    out,
    source,
    scratch: (name) => mkdtempSync(join(scratch, `${name}-`)),
  };
  const files = [];
  for (const artifact of wanted) {
    const { make } = await import(`./${artifact}.mjs`);
    files.push(...(await timed(artifact, () => make(given))));
  }
  await writeSums(out, files);
}

async function writeSums(out, files) {
  const lines = [];
  for (const file of files.flatMap(filesBelow).sort())
    lines.push(`${await sha256(file)}  ${relative(out, file)}\n`);
  writeFileSync(join(out, 'SHA256SUMS'), lines.join(''));
}

/** The file itself, or the files in a directory. */
function filesBelow(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path).flatMap((name) => filesBelow(join(path, name)));
}

async function timed(what, act) {
  const startMs = performance.now();
  const result = await act();
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  console.error(`${what}: ${seconds} s`);
  for (const file of Array.isArray(result) ? result : [])
    console.error(`  ${relative(process.cwd(), file)}  ${statSync(file).size} bytes`);
  return result;
}

main().catch(({ message }) => {
  console.error(`release: ${message}`);
  process.exitCode = 1;
});
