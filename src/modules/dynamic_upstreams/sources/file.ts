import { open } from 'node:fs/promises';
import { systemFailure } from '../../../system/index.ts';
import { readMembers } from '../../../upstream/index.ts';
import { MAX_SOURCE_BYTES, type Source, unreadable } from './source.ts';

/** `dynamic_upstreams_source_file`: a file with the body of PUT. It is read again when it has changed. */
export function fileSource(path: string): Source {
  let known = '';
  return {
    async ask() {
      const { identity, text } = await readChanged(path, known);
      if (text === undefined) return undefined;
      const members = readMembers(text, { allowsEmpty: true });
      known = identity;
      return { members };
    },
  };
}

async function readChanged(path: string, known: string): Promise<{ identity: string; text?: string }> {
  try {
    const file = await open(path);
    try {
      const { ino, mtimeNs, ctimeNs, size } = await file.stat({ bigint: true });
      const identity = [ino, mtimeNs, ctimeNs, size].join(' ');
      if (identity === known) return { identity };
      if (size > MAX_SOURCE_BYTES) throw unreadable(`"${path}" is longer than ${MAX_SOURCE_BYTES} bytes`);
      const buffer = Buffer.alloc(MAX_SOURCE_BYTES + 1);
      const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
      return { identity, text: buffer.toString('utf8', 0, bytesRead) };
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw unreadable(systemFailure('open', path, error));
  }
}
