import { constantText } from '../../config/index.ts';
import type { ComplexValue } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import { exactFault, isFault } from './files.ts';
import type { FileFault } from './system-error.ts';
import type { Site } from './site.ts';

/** Looks for the index of the directory that `$uri` names. True: answered, or sent on to the file. */
export type IndexFile = (x: Exchange) => boolean | Promise<boolean>;

/** `index`: the first file that is there is served by an internal redirect (nginx: ngx_http_index_handler). */
export function compileIndex(names: readonly ComplexValue[], site: Site, build: Build): IndexFile {
  const candidates = names.map((name) => ({ render: build.value(name), fixed: constantText(name) }));
  return (x) => {
    const directory = site.paths.of(x, x.uri);
    if (directory === undefined) {
      site.faults.unsafe(x);
      return true;
    }
    for (const { render, fixed } of candidates) {
      const name = fixed ?? render(x);
      if (name.startsWith('/')) return sentTo(x, name);
      const outcome = site.files.look(directory + name, x);
      if (!isFault(outcome)) return sentTo(x, x.uri + name);
      if (!mayGoOn(x, { directory, path: directory + name, fault: outcome }, site)) return true;
    }
    return false;
  };
}

interface Missing {
  readonly directory: string;
  readonly path: string;
  readonly fault: FileFault;
}

/** Without one index file the next is asked for, but only in a directory that is there; else it answers. */
function mayGoOn(x: Exchange, { directory, path, fault }: Missing, { files, faults }: Site): boolean {
  const { code } = fault.error;
  if (code === 'ENOTDIR' || code === 'ENAMETOOLONG' || code === 'EACCES' || code === 'ELOOP') {
    faults.index(x, path, fault);
    return false;
  }
  const outcome = files.look(directory, x);
  if (isFault(outcome)) faults.index(x, path, exactFault(path, fault));
  else if (code !== 'ENOENT') faults.answer(x, path, fault);
  else return true;
  return false;
}

function sentTo(x: Exchange, uri: string): boolean | Promise<boolean> {
  const waiting = x.redirectToPath(uri);
  return waiting ? waiting.then(() => true) : true;
}
