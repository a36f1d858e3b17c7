import type { PortHandler } from '../../compile/index.ts';
import type { ErrorLog } from '../../log/index.ts';
import type { Connections } from '../../zone/index.ts';
import { NodeTransport } from './node/node-transport.ts';
import type { OpenPort, Transport } from './transport.ts';
import { loadUws } from './uws-loader.ts';
import { UwsTransport } from './uws.ts';

/** The engines of one worker, each for the ports that ask for it. */
export class Engines implements Transport {
  private readonly log: ErrorLog;
  private readonly uws: UwsTransport;
  private readonly node: NodeTransport;
  private readonly opened = new WeakMap<OpenPort, 'node' | 'uws'>();
  /** Why uWebSockets.js cannot be used here; `undefined` while nobody asked, '' when it can. */
  private uwsFault: string | undefined = undefined;

  constructor(log: ErrorLog, connections: Connections) {
    this.log = log;
    this.uws = new UwsTransport(log, connections);
    this.node = new NodeTransport(log, connections);
  }

  async open(port: PortHandler): Promise<OpenPort> {
    const engine = this.engineOf(port);
    const open = await (engine === 'node' ? this.node : this.uws).open(port);
    this.opened.set(open, engine);
    return open;
  }

  canKeep(open: OpenPort, port: PortHandler): boolean {
    return this.opened.get(open) === this.engineOf(port);
  }

  /** What serves a port: as it is configured, else uWebSockets.js where it loads. */
  engineOf({ engine }: PortHandler): 'node' | 'uws' {
    if (engine !== 'auto') return engine;
    if (this.uwsFault === undefined) {
      this.uwsFault = faultOfUws();
      if (this.uwsFault !== '') this.log.write('notice', `${this.uwsFault}: using the node engine`);
    }
    return this.uwsFault === '' ? 'uws' : 'node';
  }

  /** Whether several workers can listen on it; else the first one does alone. */
  canShare(port: PortHandler): boolean {
    if (port.address.kind === 'unix') return false;
    return this.engineOf(port) === 'uws' || sharesPorts(process.versions.node);
  }
}

function faultOfUws(): string {
  try {
    loadUws();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

/** Node 22.12 and 23.1 let several threads listen on one port (SO_REUSEPORT). */
function sharesPorts(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
}
