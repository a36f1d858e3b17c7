import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { basename, dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { run } from './run.mjs';

/** Always several threads: with one, xz writes other bytes than with many. */
const COMPRESSORS = { gzip: 'gzip -n -9', xz: 'xz -6 -T2' };

/**
 * Packs a directory so that the same files always give the same bytes: sorted, root's, with the time of
 * `SOURCE_DATE_EPOCH` and modes of 755 or 644. Names in the archive start with that of the directory, or with "./" if
 * it is `flat`. Needs GNU tar. Returns the file.
 */
export async function tar(directory, file, { compress, flat = false }) {
  const from = flat ? [directory, '.'] : [dirname(directory), basename(directory)];
  await run('tar', [
    '--format=gnu',
    '--sort=name',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=u=rwX,go=rX',
    `--mtime=@${process.env.SOURCE_DATE_EPOCH}`,
    ...(compress ? [`--use-compress-program=${COMPRESSORS[compress]}`] : []),
    '-cf',
    file,
    '-C',
    ...from,
  ]);
  return file;
}

/** Returns the SHA-256 of a file in hexadecimal digits. */
export async function sha256(file) {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
