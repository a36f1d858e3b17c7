import { closeSync } from 'node:fs';
import type { PortHandler } from '../../compile/index.ts';
import type { ErrorLog } from '../../log/index.ts';
import { Admission } from './admission.ts';
import { sharesPorts } from '../../system/index.ts';
import { NodeTransport } from './node/node-transport.ts';
import type { EngineParts, Opening, OpenPort, Transport } from './transport.ts';
import { DROPS_HIGH_BYTES, loadUws } from './uws/loader.ts';
import { UwsTransport } from './uws/uws-transport.ts';

interface OpenedPort {
  readonly engine: 'node' | 'uws';
  readonly tls: boolean;
  readonly opening: Opening | undefined;
}

/** The engines of one worker; each port uses one of them. */
export class Engines implements Transport {
  readonly admission: Admission;
  readonly #log: ErrorLog;
  readonly #uws: UwsTransport;
  readonly #node: NodeTransport;
  readonly #opened = new WeakMap<OpenPort, OpenedPort>();
  /** The openings of ports that are not open yet. */
  readonly #openings = new Map<string, Opening>();
  /** The reason why uWebSockets.js cannot be used; '' if it can, `undefined` before the first test. */
  #uwsFault: string | undefined = undefined;

  /** The ports whose lost bytes have been reported. */
  readonly #toldLosses = new Set<string>();

  constructor(parts: Omit<EngineParts, 'admission'>) {
    const { log, connections } = parts;
    this.#log = log;
    const admission = new Admission(log, connections);
    this.admission = admission;
    this.#uws = new UwsTransport({ ...parts, admission });
    this.#node = new NodeTransport({ ...parts, admission });
  }

  /** Sets the openings of those ports of the next configuration that this process cannot bind. */
  use(openings: ReadonlyMap<string, Opening>): void {
    this.leaveOpenings();
    for (const [key, opening] of openings) this.#openings.set(key, opening);
  }

  /** Closes sockets that were passed for ports that have not been opened. */
  leaveOpenings(): void {
    for (const opening of this.#openings.values())
      if (opening.kind === 'descriptor') for (const fd of opening.fds) closeSync(fd);
    this.#openings.clear();
  }

  async open(port: PortHandler): Promise<OpenPort> {
    const opening = this.#openings.get(port.key);
    if (opening?.kind === 'refused') throw new Error(opening.reason);
    const engine = this.#engineOf(port, opening);
    // From here on the engine owns the socket.
    this.#openings.delete(port.key);
    const open = await (engine === 'node' ? this.#node : this.#uws).open(port, opening);
    this.#opened.set(open, { engine, tls: port.tls !== undefined, opening });
    return open;
  }

  canKeep(open: OpenPort, port: PortHandler): boolean {
    const { engine, tls, opening } = this.#opened.get(open) ?? {};
    // An App of uWebSockets.js speaks TLS with all clients or with none.
    const isAlike = engine === 'node' || tls === (port.tls !== undefined);
    return isAlike && engine === this.#engineOf(port, opening);
  }

  /**
   * Returns a message about ports whose engine nobody has chosen, and which lose bytes of headers that their configuration
   * reads or forwards, if they have not been reported yet. No build of uWebSockets.js keeps these bytes, and none reports the loss.
   */
  newLosses(ports: readonly PortHandler[]): string | undefined {
    if (!DROPS_HIGH_BYTES) return undefined;
    const losing = ports.filter((port) => !this.#toldLosses.has(port.key) && this.#loses(port));
    if (losing.length === 0) return undefined;
    for (const { key } of losing) this.#toldLosses.add(key);
    const text = losing.map(({ key }) => key).join(', ');
    return `uWebSockets.js drops bytes from 0x80 on at the ends of header values ("José" arrives as "Jos") on ${text}: "http_engine node;" at the top of the file keeps them`;
  }

  #loses(port: PortHandler): boolean {
    return (
      port.engine === 'auto' &&
      readsHeaders(port) &&
      this.#engineOf(port, this.#openings.get(port.key)) === 'uws'
    );
  }

  /** Returns the engine of a port: the configured one, else uWebSockets.js if it loads and can use the socket. */
  #engineOf({ engine, key }: PortHandler, opening: Opening | undefined): 'node' | 'uws' {
    if (opening?.kind === 'descriptor') {
      if (engine === 'uws')
        throw new Error(`${key} with engine=uws needs a restart: only root can bind the port`);
      return 'node';
    }
    if (engine !== 'auto') return engine;
    if (this.#uwsFault === undefined) {
      this.#uwsFault = faultOfUws();
      if (this.#uwsFault !== '') this.#log.write('notice', `${this.#uwsFault}: using the node engine`);
    }
    return this.#uwsFault === '' ? 'uws' : 'node';
  }

  /**
   * Tells whether several workers can listen on a port; otherwise only the first one does. Only new ports have
   * openings.
   */
  canShare(port: PortHandler, open?: OpenPort): boolean {
    const opening = open ? this.#opened.get(open)?.opening : this.#openings.get(port.key);
    if (opening) return true;
    if (port.address.kind === 'unix') return false;
    return this.#engineOf(port, opening) === 'uws' || sharesPorts(process.versions.node);
  }
}

function readsHeaders({ needs }: PortHandler): boolean {
  return needs.allHeaders || needs.headers.size > 0;
}

function faultOfUws(): string {
  try {
    loadUws();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}
