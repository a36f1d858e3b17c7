import { createPrivateKey, sign } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { sha256 } from './archive.mjs';

/** Returns the name below `out` and the SHA-256 of each file, sorted. Of directories all files count, but no links. */
export async function hashesOf(out, files) {
  const hashes = files
    .flatMap(filesBelow)
    .map(async (file) => ({ name: relative(out, file), hash: await sha256(file) }));
  return (await Promise.all(hashes)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function filesBelow(path) {
  if (!statSync(path).isDirectory()) return [path];
  const entries = readdirSync(path, { withFileTypes: true }).filter((entry) => !entry.isSymbolicLink());
  return entries.flatMap(({ name }) => filesBelow(join(path, name)));
}

/** Reads the key that signs, `undefined` without a file. Throws if it is not ed25519, or others can read it. */
export function readKey(file) {
  if (file === undefined) return undefined;
  if ((statSync(file).mode & 0o077) !== 0)
    throw new Error(`others than its owner can read the key "${file}": chmod 600`);
  const key = createPrivateKey(readFileSync(file));
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`the key "${file}" is ${key.asymmetricKeyType}, not ed25519`);
  return key;
}

/** Writes SHA256SUMS, as `sha256sum -c` reads it, and with a key SHA256SUMS.sig. */
export function writeSums(out, hashes, key) {
  const text = hashes.map(({ name, hash }) => `${hash}  ${name}\n`).join('');
  writeFileSync(join(out, 'SHA256SUMS'), text);
  if (key) writeFileSync(join(out, 'SHA256SUMS.sig'), sign(null, Buffer.from(text), key));
}
