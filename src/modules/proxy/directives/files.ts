import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { readers } from '../../../config/index.ts';
import type { ArgReader } from '../../../config/index.ts';
import type { LoadedFile } from '../config.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: '2: No such file or directory',
  EACCES: '13: Permission denied',
  EISDIR: '21: Is a directory',
};

/**
 * The content of a file; a relative path starts from the configuration's directory. It is read with the configuration, for
 * what serves requests later may not be allowed to.
 */
export function loadedFile(what: string): ArgReader<LoadedFile> {
  return readers.oneWord('file', (word, { report, confDir }) => {
    const path = resolve(confDir, word.value);
    try {
      return { path, text: readFileSync(path, 'utf8') };
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException;
      report.emerg(`cannot load ${what} "${path}": open() failed (${REASONS[code] ?? message})`, word.span);
      return undefined;
    }
  });
}
