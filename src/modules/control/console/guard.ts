import { isIP } from 'node:net';
import type { Build, GatewayView, WorkerScope } from '../../../contract/index.ts';
import { parseHost } from '../../../http/index.ts';
import type { Exchange } from '../../../http/index.ts';
import { ControlFault } from '../fault.ts';
import { WRITE_HEADER } from './contract.ts';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** What browsers say of requests that a page of the console makes, or a person who types its address. */
const OWN_SITES: ReadonlySet<string | undefined> = new Set([undefined, 'same-origin', 'none']);

/**
 * Whom the console answers. A name that nobody configured is refused, for a foreign name that leads here makes foreign
 * pages ours (DNS rebinding); data goes to pages of this origin alone, and writes need what only those can send.
 */
export class ConsoleGuard {
  readonly #worker: WorkerScope;

  constructor(build: Build, worker: WorkerScope) {
    this.#worker = worker;
    for (const name of ['sec-fetch-site', 'origin', 'host', 'content-type', WRITE_HEADER])
      build.needHeader(name);
  }

  /** Throws a `ControlFault` (403, 421). */
  page(x: Exchange): void {
    if (!isOwnName(x.host, this.#worker.view))
      throw new ControlFault(421, `"${x.host}" is no name of this server`);
  }

  data(x: Exchange): void {
    this.page(x);
    if (!OWN_SITES.has(x.header('sec-fetch-site'))) throw new ControlFault(403, 'cross-site request refused');
    if (!READS.has(x.method)) checkWrite(x);
  }
}

function checkWrite(x: Exchange): void {
  if (x.header(WRITE_HEADER) === undefined)
    throw new ControlFault(403, `header "${WRITE_HEADER}" is missing`);
  const origin = x.header('origin');
  if (origin !== undefined && origin !== `${x.port.scheme}://${x.header('host') ?? ''}`) {
    throw new ControlFault(403, 'cross-origin request refused');
  }
  if (!/^application\/json\s*(;|$)/i.test(x.header('content-type') ?? '')) {
    throw new ControlFault(415, 'content-type must be application/json');
  }
}

/** An address is no name that somebody could point elsewhere, and `localhost` never leaves the machine (RFC 6761, 6.3). */
function isOwnName(host: string, view: GatewayView): boolean {
  const address = host.startsWith('[') ? host.slice(1, -1) : host;
  if (isIP(address) !== 0 || host === 'localhost' || host.endsWith('.localhost')) return true;
  return parseHost(host) !== undefined && view.knowsHost(host);
}
