import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { readers } from '../../../config/index.ts';
import type { ArgReader } from '../../../config/index.ts';
import { systemReason } from '../../../log/index.ts';
import type { LoadedFile } from '../config.ts';

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
      report.emerg(`cannot load ${what} "${path}": open() failed (${systemReason(error)})`, word.span);
      return undefined;
    }
  });
}
