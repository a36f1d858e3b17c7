import type { TlsConfig } from '../client/index.ts';
import type { ComplexValue } from '../config/index.ts';
import type { HeaderRule, TryingConfig } from '../forwarding/index.ts';

export type { HeaderRule } from '../forwarding/index.ts';

/** The target of `proxy_pass`. */
export type PassTarget = LiteralTarget | { readonly kind: 'variables'; readonly value: ComplexValue };

/** An address without variables. */
export interface LiteralTarget {
  readonly kind: 'literal';
  readonly scheme: 'http' | 'https';
  /** A name, an address (IPv6 in brackets) or `unix:/path`. */
  readonly host: string;
  /** As written. */
  readonly port?: number;
  /** The text from the first slash after the host on; '' if there is none. */
  readonly uri: string;
  /** The whole URL as written. */
  readonly url: string;
}

/** The part of the proxy module's config that other modules, rules and active checks read. */
export interface ProxyPassConfig extends TryingConfig, TlsConfig {
  readonly pass?: PassTarget;
  readonly setHeaders?: readonly HeaderRule[];
  readonly httpVersion: '1.0' | '1.1' | '2';
}
