import type { Build } from '../../contract/index.ts';
import { type Exchange, logContext } from '../../http/index.ts';
import { systemReason } from '../../system/index.ts';
import type { DocumentPath } from './document-path.ts';
import { type FileFault, type Files, severityOf } from './files.ts';

/** Responds to and logs requests whose file cannot be served, as nginx does. */
export class FileFaults {
  readonly #log: Build['log'];
  readonly #logNotFound: boolean;
  /** The path of the location if `alias` replaces it, else ''. */
  readonly #aliased: string;

  constructor(build: Build, { logNotFound }: { readonly logNotFound: boolean }) {
    this.#log = build.log;
    this.#logNotFound = logNotFound;
    const { documentRoot } = build.core;
    this.#aliased = (documentRoot?.kind ?? 'root') === 'root' ? '' : build.location.path;
  }

  /** Responds for a file that cannot be opened, and logs it; missing files only with `log_not_found`. */
  respond(x: Exchange, path: string, fault: FileFault): void {
    const { status, level } = severityOf(fault);
    if (status !== 404 || this.#logNotFound) this.#write(level, `${fault.call} ${describe(path, fault)}`, x);
    x.end(status);
  }

  /** Responds if the directory of an index file is missing or may not be searched. */
  index(x: Exchange, path: string, fault: FileFault): void {
    const { status } = severityOf(fault);
    const is = status === 403 ? 'forbidden' : 'not found';
    if (status === 403 || this.#logNotFound)
      this.#write('error', `"${path}" is ${is} (${systemReason(fault.error)})`, x);
    x.end(status === 403 ? 403 : 404);
  }

  /** Logs a fault that does not end the request. */
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

  /** Responds to a URI that leads out of the root or no longer begins with its alias, with nginx's messages. */
  unsafe(x: Exchange): void {
    if (x.rewritePhase?.hasLeftLocation && this.#aliased !== '') return this.#rewritten(x);
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

/** The parts that the handlers of a location use to find files. */
export interface Site {
  readonly paths: DocumentPath;
  readonly files: Files;
  readonly faults: FileFaults;
}
