import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import { readers } from '../../../config/index.ts';
import type { ArgReader } from '../../../config/index.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: '2: No such file or directory',
  EACCES: '13: Permission denied',
};

/** The absolute path of a file that can be read; relative ones start from the configuration's directory. */
export function readableFile(what: string): ArgReader<string> {
  return readers.oneWord('file', (word, { report, confDir }) => {
    const file = resolve(confDir, word.value);
    try {
      accessSync(file, constants.R_OK);
      return file;
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException;
      report.emerg(`cannot load ${what} "${file}": open() failed (${REASONS[code] ?? message})`, word.span);
      return undefined;
    }
  });
}
