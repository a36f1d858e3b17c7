import { randomInt } from 'node:crypto';
import { readEntries } from './autoindex/index.ts';
import type { IndexFile } from './index-file.ts';
import type { Site } from './site.ts';

/** `random_index`: any file of the directory serves as its index (nginx: ngx_http_random_index_handler). */
export function compileRandomIndex({ paths, faults }: Site): IndexFile {
  return (x) => {
    const path = paths.of(x, x.uri);
    if (path === undefined) {
      faults.unsafe(x);
      return true;
    }
    try {
      const files = readEntries(path).filter(({ kind }) => kind === 'file');
      const [chosen] = files.slice(files.length > 0 ? randomInt(files.length) : 0);
      if (!chosen) return false;
      const waiting = x.redirectToPath(x.uri + Buffer.from(chosen.name, 'latin1').toString());
      return waiting ? waiting.then(() => true) : true;
    } catch (error) {
      faults.answer(x, path, { call: 'opendir()', error: error as NodeJS.ErrnoException });
      return true;
    }
  };
}
