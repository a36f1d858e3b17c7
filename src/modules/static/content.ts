import { randomInt } from 'node:crypto';
import { type ComplexValue, constantText } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import { encodePath, type Exchange, type Handler, varyByEncoding } from '../../http/index.ts';
import type { FileResponse } from './file-response.ts';
import { readEntries } from './autoindex.ts';
import { exactFault, type FileFault, isAbsent, isFault, severityOf } from './files.ts';
import type { Site } from './site.ts';

/** Compiles the handler that serves the file of `$uri` (nginx: ngx_http_static_handler). */
export function compileServeFile({ paths, files, faults }: Site, respond: FileResponse): Handler {
  return (x) => {
    if (!mayRead(x)) return x.end(405);
    const path = paths.of(x, x.uri);
    if (path === undefined) return faults.unsafe(x);
    const file = files.open(path, x);
    if (isFault(file)) return faults.respond(x, path, file);
    if (file.kind === 'file' && x.method !== 'POST') return respond(x, file, path);
    file.release();
    if (file.kind === 'directory') return redirectToDirectory(x);
    return file.kind === 'file' ? x.end(405) : faults.notRegular(x, path);
  };
}

/** nginx looks for a file for these methods; POST gets 405 if the file exists. */
function mayRead({ method }: Exchange): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'POST';
}

function redirectToDirectory(x: Exchange): void {
  x.redirect(301, `${encodePath(x.uri)}/${x.args === '' ? '' : `?${x.args}`}`);
}

/** The rules for finding precompressed files, and the handlers for such a file and for the plain one. */
interface PrecompressedParts {
  readonly mode: 'on' | 'always';
  readonly coding: 'gzip' | 'br';
  /** With the dot. */
  readonly extension: '.gz' | '.br';
  readonly accepts: (x: Exchange) => boolean;
  readonly respond: FileResponse;
  readonly plain: Handler;
}

/**
 * Compiles `gzip_static` and `brotli_static`: a precompressed file beside the plain one is sent in its place (nginx:
 * ngx_http_gzip_static_handler).
 */
export function compilePrecompressed(
  { mode, coding, extension, accepts: isAcceptedBy, respond, plain }: PrecompressedParts,
  { paths, files, faults }: Site,
  build: Build,
): Handler {
  const accepts = mode === 'always' ? (): boolean => true : isAcceptedBy;
  const varies = build.core.gzipVary && mode === 'on';
  return (x: Exchange) => {
    if (x.method !== 'GET' && x.method !== 'HEAD') return plain(x);
    const isAccepted = accepts(x);
    const plainPath = paths.of(x, x.uri);
    if (plainPath === undefined || (!isAccepted && !varies)) return plain(x);
    const path = plainPath + extension;
    const file = files.open(path, x);
    if (isFault(file)) {
      if (!isAbsent(file)) faults.note(x, path, { ...file, level: severityOf(file).level });
      return plain(x);
    }
    if (varies) varyByEncoding(x);
    if (isAccepted && file.kind === 'file') {
      x.response.setHeader('Content-Encoding', coding);
      return respond(x, file, path);
    }
    const { kind } = file;
    file.release();
    return isAccepted && kind === 'other' ? faults.notRegular(x, path) : plain(x);
  };
}

/** Looks for an index of the directory `$uri`. True: the request was redirected, or a response was sent. */
type IndexFile = (x: Exchange) => boolean | Promise<boolean>;

/** Compiles `index`: redirects internally to the first file that exists (nginx: ngx_http_index_handler). */
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

/** Tells whether the next index file is to be tried. Responds and returns false if the directory does not exist. */
function mayGoOn(x: Exchange, { directory, path, fault }: Missing, { files, faults }: Site): boolean {
  const { code } = fault.error;
  if (code === 'ENOTDIR' || code === 'ENAMETOOLONG' || code === 'EACCES' || code === 'ELOOP') {
    faults.index(x, path, fault);
    return false;
  }
  const outcome = files.look(directory, x);
  if (isFault(outcome)) faults.index(x, path, exactFault(path, fault));
  else if (code !== 'ENOENT') faults.respond(x, path, fault);
  else return true;
  return false;
}

function sentTo(x: Exchange, uri: string): boolean | Promise<boolean> {
  const waiting = x.redirectToPath(uri);
  return waiting ? waiting.then(() => true) : true;
}

/** Compiles `random_index`: a random file of the directory is its index (nginx: ngx_http_random_index_handler). */
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
      faults.respond(x, path, { call: 'opendir()', error: error as NodeJS.ErrnoException });
      return true;
    }
  };
}

/** The handlers of a location, in the order of nginx's content handlers. */
interface ContentSteps {
  /** Tried in turn for a URI that ends with a slash. */
  readonly indexes: readonly IndexFile[];
  readonly autoindex: Handler | undefined;
  readonly file: Handler;
}

/** Compiles the handler for files and directories. */
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
      if (outcome) return outcome.then((isHandled) => (isHandled ? undefined : directory(x, index + 1)));
    }
    return list(x);
  };
  return (x) => {
    if (!x.uri.endsWith('/')) return file(x);
    return mayRead(x) ? directory(x, 0) : x.end(405);
  };
}
