import type { Exchange, Handler } from '../../http/index.ts';
import type { IndexFile } from './index-file.ts';
import { mayRead } from './serve-file.ts';
import type { Site } from './site.ts';

/** What a location does with a URI, in the order of nginx's content handlers. */
export interface ContentSteps {
  /** For a URI that ends with a slash: each may send the request on. */
  readonly indexes: readonly IndexFile[];
  readonly autoindex: Handler | undefined;
  readonly file: Handler;
}

/** Serves a file, or what stands for a directory. */
export function compileContent({ indexes, autoindex, file }: ContentSteps, site: Site): Handler {
  const list = (x: Exchange): void | Promise<void> => {
    if (autoindex && x.method !== 'POST') return autoindex(x);
    const path = site.paths.of(x, x.uri);
    return path === undefined ? site.faults.unsafe(x) : site.faults.directoryIndex(x, path);
  };
  const directory = (x: Exchange, step: number): void | Promise<void> => {
    for (let index = step; index < indexes.length; index++) {
      const outcome = (indexes[index] as IndexFile)(x);
      if (outcome === true) return undefined;
      if (outcome) return outcome.then((isAnswered) => (isAnswered ? undefined : directory(x, index + 1)));
    }
    return list(x);
  };
  return (x) => {
    if (!x.uri.endsWith('/')) return file(x);
    return mayRead(x) ? directory(x, 0) : x.end(405);
  };
}
