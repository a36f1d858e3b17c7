import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  lutimesSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { Owner } from '../harness/owner.ts';

/** 29 February 2024, 12:34:56 UTC: the time of every file and directory, so that validators are the same on every machine. */
const MODIFIED = new Date('2024-02-29T12:34:56Z');

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';
const packed = gzipSync('packed page\n');
// The header of gzip names the system that packed the file.
packed[9] = 3;

/** Path → content; a number is a file of this many zero bytes. */
const FILES: Readonly<Record<string, string | Buffer | number>> = {
  'index.html': 'home\n',
  'page.html': 'page\n',
  'page.html.gz': packed,
  'alone.html.gz': packed,
  'alpha.txt': ALPHABET,
  'empty.txt': '',
  'data.bin': 200_000,
  'picture.gif': 'not really a picture\n',
  'no-extension': 'plain\n',
  '.hidden': 'hidden\n',
  'UPPER.HTML': 'upper\n',
  'with space %.txt': 'space\n',
  'docs/index.html': 'docs\n',
  'docs/other.html': 'other\n',
  'docs/sub/deep.txt': 'deep\n',
  'docs/sp ace%/x.txt': 'x\n',
  'img/a.gif': 'a\n',
  'imgs/secret.txt': 'beside\n',
  'second/index.htm': 'second index\n',
  'second/packed.html': 'page\n',
  'second/packed.html.gz': packed,
  'second/packed.html.br': brotliCompressSync('page in Brotli\n'),
  'spa/app.html': 'app\n',
  'one/only.txt': 'only\n',
  'list/a.txt': 'aaa',
  'list/b & <c> "d".txt': 'b',
  'list/Zebra': 'z',
  'list/ä-umlaut.txt': 'ä',
  'list/colon:name': '',
  'list/.hidden': '',
  [`list/${'n'.repeat(49)}`]: '',
  [`list/${'n'.repeat(50)}`]: '',
  [`list/${'n'.repeat(51)}`]: '',
  [`list/${'ü'.repeat(30)}`]: '',
  [`list/${'ü'.repeat(50)}`]: '',
  [`list/${'ü'.repeat(51)}`]: '',
  'list/sub/x': '',
  [`list/${'d'.repeat(50)}/x`]: '',
  'list/Dir/x': '',
  'sizes/b0': 0,
  'sizes/b9999': 9_999,
  'sizes/k10000': 10_000,
  'sizes/k1023.5': 1_048_064,
  'sizes/m1': 1_048_576,
  'sizes/m1.5': 1_572_864,
  'sizes/g1.4': 1_503_238_553,
};

const DIRECTORIES = ['empty'];

/** Link → its target. */
const LINKS: Readonly<Record<string, string>> = {
  'link.txt': 'alpha.txt',
  linked: 'docs',
  'docs/up.txt': '../alpha.txt',
  'broken.txt': 'nowhere',
  'list/link.txt': 'a.txt',
  'list/broken': 'nowhere',
};

/** Makes the directory that cases call `SITE`; the end of the test removes it. */
export function makeSite(t: Owner): string {
  // Not `tmpdir()`: recorded responses show this path, and their lengths count it.
  const site = mkdtempSync('/tmp/conformance-site-');
  t.onTestFinished(async () => rmSync(site, { recursive: true, force: true }));
  for (const name of DIRECTORIES) mkdirSync(join(site, name));
  for (const [name, content] of Object.entries(FILES)) {
    const path = join(site, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === 'number' ? '' : content);
    if (typeof content === 'number') truncateSync(path, content);
  }
  for (const [name, target] of Object.entries(LINKS)) symlinkSync(target, join(site, name));
  age(site);
  return site;
}

/** Leaves first: creating a file changes the time of its directory. */
function age(directory: string): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) age(path);
    else lutimesSync(path, MODIFIED, MODIFIED);
  }
  utimesSync(directory, MODIFIED, MODIFIED);
}
