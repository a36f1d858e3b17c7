import type { Build } from '../../contract/index.ts';
import { type Exchange, logContext, rewritePhaseOf } from '../../http/index.ts';
import { systemReason } from '../../system/index.ts';
import type { DocumentPath } from './document-path.ts';
import { type FileFault, type Files, severityOf } from './files.ts';

/** What nginx says and answers where there is no file to serve. */
export class FileFaults {
  readonly #log: Build['log'];
  readonly #logNotFound: boolean;
  /** '' where no alias takes its place. */
  readonly #aliased: string;

  constructor(build: Build, { logNotFound }: { readonly logNotFound: boolean }) {
    this.#log = build.log;
    this.#logNotFound = logNotFound;
    const { location, core } = build;
    this.#aliased = (core.documentRoot?.kind ?? 'root') === 'root' ? '' : location.path;
  }

  /** A file that cannot be opened: its status, and a line unless nobody wants to hear of missing files. */
  respond(x: Exchange, path: string, fault: FileFault): void {
    const { status, level } = severityOf(fault);
    if (status !== 404 || this.#logNotFound) this.#write(level, `${fault.call} ${describe(path, fault)}`, x);
    x.end(status);
  }

  /** A directory that is not there, or may not be searched, where an index file was looked for. */
  index(x: Exchange, path: string, fault: FileFault): void {
    const { status } = severityOf(fault);
    const is = status === 403 ? 'forbidden' : 'not found';
    if (status === 403 || this.#logNotFound)
      this.#write('error', `"${path}" is ${is} (${systemReason(fault.error)})`, x);
    x.end(status === 403 ? 403 : 404);
  }

  /** A fault that the request survives. */
  note(x: Exchange, path: string, fault: FileFault & { readonly level: 'error' | 'crit' }): void {
    this.#write(fault.level, `${fault.call} ${describe(path, fault)}`, x);
  }

  directoryIndex(x: Exchange, path: string): void {
    this.#write('error', `directory index of "${path}" is forbidden`, x);
    x.end(403);
  }

  notRegular(x: Exchange, path: string): void {
    this.#write('crit', `"${path}" is not a regular file`, x);
    x.end(404);
  }

  /** A URI that would lead out of the root, or has left its alias; nginx has these words where it looks for such URIs. */
  unsafe(x: Exchange): void {
    if (rewritePhaseOf(x)?.hasLeftLocation && this.#aliased !== '') return this.#rewritten(x);
    this.#write('error', `unsafe URI "${x.uri}" was detected`, x);
    x.end(404);
  }

  #rewritten(x: Exchange): void {
    const place = `in location "${this.#aliased}" where URI was rewritten`;
    this.#write('alert', `"alias" cannot be used ${place}`, x);
    x.end(500);
  }

  #write(level: 'error' | 'crit' | 'alert', message: string, x: Exchange): void {
    this.#log.write(level, message, logContext(x));
  }
}

function describe(path: string, { error }: FileFault): string {
  return `"${path}" failed (${systemReason(error)})`;
}

/** The files of a location, as its handlers come to them. */
export interface Site {
  readonly paths: DocumentPath;
  readonly files: Files;
  readonly faults: FileFaults;
}
