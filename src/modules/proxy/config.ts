import type { ComplexValue } from '../../config/index.ts';
import type { ProxyPassConfig, RegexConfig } from '../../contract/index.ts';
import type { ForwardingConfig } from '../../forwarding/index.ts';
import type { AllowedHost } from '../../upstream/index.ts';

/** The text that is searched for: a plain one (with variables) or a regular expression. */
export type Pattern =
  | { readonly kind: 'text'; readonly value: ComplexValue }
  | { readonly kind: 'regex'; readonly regex: RegexConfig };

/** A rule of `proxy_redirect`, `proxy_cookie_domain` or `proxy_cookie_path`. */
export interface Replacement {
  readonly pattern: Pattern;
  readonly by: ComplexValue;
}

export type RedirectRule = 'default' | 'off' | Replacement;
export type CookieRule = 'off' | Replacement;

/** `proxy_cookie_flags cookie flag …`. */
export type CookieFlagsRule = 'off' | { readonly cookie: Pattern; readonly flags: readonly ComplexValue[] };

/** `proxy_*` of one location. */
export interface ProxyConfig extends ForwardingConfig, ProxyPassConfig {
  /**
   * Hosts that variables in `pass` may name. Absent: any host, but if the client chooses it, none of this machine's own
   * addresses.
   */
  readonly allowHosts?: readonly (readonly AllowedHost[])[];
  readonly setBody?: ComplexValue;
  readonly method?: ComplexValue;
  readonly redirects?: readonly RedirectRule[];
  readonly cookieDomains?: readonly CookieRule[];
  readonly cookiePaths?: readonly CookieRule[];
  readonly cookieFlags?: readonly CookieFlagsRule[];
  readonly passTrailers: boolean;
  /** In lower case. */
  readonly upgradeProtocols: readonly string[];
}
