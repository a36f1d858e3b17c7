import type { DirectiveNode } from '../../grammar/index.ts';
import type { BlockView } from '../config/index.ts';
import type { CoreConfig, ListenConfig, SslConfig } from '../contract/index.ts';
import { addressText } from '../plan/index.ts';
import type { CheckedConfig } from './rule.ts';

/** A server on a socket, and the `listen` that put it there. */
export interface Listener {
  readonly server: BlockView;
  readonly listen: ListenConfig;
  readonly node: DirectiveNode;
}

/** An address that servers listen on, in the order of the file. */
export interface Socket {
  readonly address: string;
  readonly listeners: readonly Listener[];
}

/** The sockets that some `listen` asks for; a server without any is on none of them. */
export function socketsOf(config: CheckedConfig): readonly Socket[] {
  const sockets = new Map<string, Listener[]>();
  for (const server of config.blocks('server')) {
    const { listens = [] } = server.config('core') as Partial<CoreConfig>;
    const nodes = server.from('core').get('listens')?.nodes ?? [];
    for (const [index, listen] of listens.entries()) {
      const node = nodes[index];
      if (!node || listen.quic) continue;
      const address = addressText(listen.address);
      const listeners = sockets.get(address) ?? [];
      sockets.set(address, listeners);
      listeners.push({ server, listen, node });
    }
  }
  return [...sockets].map(([address, listeners]) => ({ address, listeners }));
}

/** A `listen` that asks for TLS: by its own word, or by `ssl on` for the whole server. */
export function speaksTls({ server, listen }: Listener): boolean {
  return listen.ssl ?? sslOf(server).enabled ?? false;
}

/** The TLS settings of a server, as far as it has any. */
export function sslOf(server: BlockView): Partial<SslConfig> {
  return server.config('ssl') as Partial<SslConfig>;
}
