import type { ComplexValue } from '../config/index.ts';

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

/** The part of the proxy module's config that other modules and rules read. */
export interface ForwardingConfig {
  readonly pass?: PassTarget;
}
