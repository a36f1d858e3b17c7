import type { Build, WorkerScope } from '../../../contract/index.ts';
import { isOwnName, SITE_HEADERS, writeRefusal } from '../../../http/index.ts';
import type { Exchange, KnowsHost } from '../../../http/index.ts';
import { ControlFault } from '../fault.ts';
import { WRITE_HEADER } from './contract.ts';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Whom the console answers. A name that nobody configured is refused, for a foreign name that leads here makes foreign
 * pages ours (DNS rebinding); data goes to pages of this origin alone, and writes need what only those can send.
 */
export class ConsoleGuard {
  readonly #knowsHost: KnowsHost;

  constructor(build: Build, worker: WorkerScope) {
    this.#knowsHost = (host) => worker.view.knowsHost(host);
    for (const name of [...SITE_HEADERS, 'content-type', WRITE_HEADER]) build.needHeader(name);
  }

  /** Throws a `ControlFault` (421). */
  page(x: Exchange): void {
    if (!isOwnName(x.host, this.#knowsHost))
      throw new ControlFault(421, `"${x.host}" is no name of this server`);
  }

  /** Throws a `ControlFault` (403, 415, 421). */
  data(x: Exchange): void {
    this.page(x);
    const refusal = writeRefusal(x, this.#knowsHost);
    if (refusal !== undefined) throw new ControlFault(403, refusal);
    if (!READS.has(x.method)) checkWrite(x);
  }
}

function checkWrite(x: Exchange): void {
  if (x.header(WRITE_HEADER) === undefined)
    throw new ControlFault(403, `header "${WRITE_HEADER}" is missing`);
  if (!/^application\/json\s*(;|$)/i.test(x.header('content-type') ?? '')) {
    throw new ControlFault(415, 'content-type must be application/json');
  }
}
