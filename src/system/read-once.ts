import { readFileSync } from 'node:fs';

const READ = new WeakMap<object, Map<string, Buffer>>();

/** Gives the content of a file; throws the system's error. */
export type ReadFile = (path: string) => Buffer;

/**
 * Returns what reads files for one load of a configuration, for which `load` stands: each once, however often it is named.
 * It may be a pipe, which can be read only once (nginx: ngx_ssl_cache_fetch).
 */
export function readerOf(load: object): ReadFile {
  const known = READ.get(load) ?? new Map<string, Buffer>();
  READ.set(load, known);
  return (path) => {
    const bytes = known.get(path) ?? readFileSync(path);
    known.set(path, bytes);
    return bytes;
  };
}
