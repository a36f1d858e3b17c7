// ioredis in a module of its own: workers load it where a location needs it.
import { lookup } from 'node:dns';
import { createConnection, type LookupFunction, type Socket } from 'node:net';
import { connect } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import { type AddressRule, admits, HostRefused } from '../../upstream/index.ts';

export { Redis } from 'ioredis';

/** Connects a client to a name as long as all of its addresses are admitted: the name may have others each time it is looked up. */
export function connectorWithin(rule: AddressRule): NonNullable<RedisOptions['Connector']> {
  return class extends AbstractConnector {
    readonly #options: RedisOptions;

    constructor(options: unknown) {
      const own = options as RedisOptions & { readonly disconnectTimeout: number };
      super(own.disconnectTimeout);
      this.#options = own;
    }

    override async connect(): Promise<Socket> {
      const { host = '', port = 0, tls } = this.#options;
      const to = { host, port, lookup: lookupWithin(rule, port) };
      this.connecting = true;
      const socket = tls ? connect({ ...tls, ...to }) : createConnection(to);
      socket.once('error', (error) => (this.firstError = error));
      return (this.stream = socket);
    }
  };
}

function lookupWithin(rule: AddressRule, port: number): LookupFunction {
  return (host, options, found) =>
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error) return found(error, []);
      const [first] = addresses;
      if (!first || !addresses.every(({ address }) => admits(rule, address, port)))
        return found(new HostRefused(host), []);
      if (options.all) found(null, addresses);
      else found(null, first.address, first.family);
    });
}
