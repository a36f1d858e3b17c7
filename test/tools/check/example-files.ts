import { chmod, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Example, MadeFile } from '../../../src/contract/index.ts';
import { Certificates } from '../../harness/certificates.ts';

/** The certificate that signs those of examples; made when the first of them is needed. */
let signing: Certificates | undefined;

function certificates(): Certificates {
  if (!signing) {
    signing = new Certificates();
    signing.authority('authority');
  }
  return signing;
}

/** Puts the files of an example into a directory. */
export async function writeFiles(directory: string, files: Example['files'] = {}): Promise<void> {
  for (const [name, file] of Object.entries(files)) {
    const path = join(directory, name);
    await mkdir(dirname(path), { recursive: true });
    // Some hold secrets, which no other user may read.
    if (typeof file === 'string') await writeFile(path, file, { mode: 0o600 });
    else if ('text' in file) await writeWithMode(path, file);
    else await make(file, { name, path }, files);
  }
}

type Written = Extract<MadeFile, { text: unknown }>;

async function writeWithMode(path: string, { text, mode }: Written): Promise<void> {
  await writeFile(path, text);
  // Independent of the umask of the tests.
  await chmod(path, mode);
}

async function make(
  file: Exclude<MadeFile, Written>,
  { name, path }: { readonly name: string; readonly path: string },
  files: NonNullable<Example['files']>,
): Promise<void> {
  const certificate = 'keyOf' in file ? files[file.keyOf] : file;
  if (typeof certificate !== 'object' || !('names' in certificate))
    throw new Error(`no certificate for ${path}`);
  const made = madeOf(certificate, 'keyOf' in file ? join(dirname(name), file.keyOf) : name);
  await copyFile(certificates().path(`${made}.${'keyOf' in file ? 'key' : 'crt'}`), path);
  if ('keyOf' in file) await chmod(path, file.mode ?? 0o600);
}

const known = new Map<string, string>();

/** One certificate for the files of this name, with its key beside it. */
function madeOf({ names, days }: Extract<MadeFile, { names: unknown }>, name: string): string {
  const key = JSON.stringify([name, names, days]);
  const made = known.get(key) ?? `certificate-${known.size}`;
  if (!known.has(key)) certificates().signed(made, 'authority', { names, days });
  known.set(key, made);
  return made;
}
