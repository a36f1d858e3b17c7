import type { ComplexValue } from '../config/index.ts';

/** Where requests are forwarded to (`proxy_pass`). */
export type PassTarget = LiteralTarget | { readonly kind: 'variables'; readonly value: ComplexValue };

/** An address without variables. */
export interface LiteralTarget {
  readonly kind: 'literal';
  readonly scheme: 'http' | 'https';
  /** A name, an address (IPv6 in brackets) or `unix:/path`. */
  readonly host: string;
  /** As written. */
  readonly port?: number;
  /** From the first slash behind the host on; '' when there is none. */
  readonly uri: string;
  /** All of it, as written. */
  readonly url: string;
}

/** What others than the proxy module read of its config. */
export interface ForwardingConfig {
  readonly pass?: PassTarget;
}
