import type { Network } from '../../config/index.ts';

/** Who is believed: a network, the clients of Unix sockets, or the addresses of a host. */
export type Proxy = Network | 'unix' | { readonly host: string };

/** Where the client's address stands: in a request header, by its lower-case name, or before the request. */
export type Source = { readonly header: string } | 'proxy_protocol';

/** Whose word on the client's address counts in one location. */
export interface RealIpConfig {
  readonly proxies?: readonly Proxy[];
  readonly source: Source;
  readonly recursive: boolean;
}
