import type { Build } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import type { ProxyConfig } from './config.ts';
import { compileCookieFlags, compileRules } from './replacements.ts';
import type { Rewrite } from './replacements.ts';

/** Rewrites a `Set-Cookie` header as `proxy_cookie_domain`, `_path` and `_flags` say; `undefined` where none is configured. */
export function compileCookies(
  config: ProxyConfig,
  build: Build,
): ((x: Exchange, cookie: string) => string) | undefined {
  const domain = compileRules(config.cookieDomains, 'whole', build);
  const path = compileRules(config.cookiePaths, 'prefix', build);
  const flags = compileCookieFlags(config.cookieFlags, build);
  if (!domain && !path && !flags) return undefined;
  return (x, cookie) => {
    const [pair = '', ...rest] = cookie.split(';');
    const attributes = rest.map((attribute) => {
      const equals = attribute.indexOf('=');
      const name = attribute.slice(0, equals).trim().toLowerCase();
      const rewrite: Rewrite | undefined = name === 'domain' ? domain : name === 'path' ? path : undefined;
      const value = equals < 0 ? undefined : rewrite?.(x, attribute.slice(equals + 1).trim());
      return value === undefined ? attribute : attribute.slice(0, equals + 1) + value;
    });
    if (!flags) return [pair, ...attributes].join(';');
    const name = pair.split('=', 1)[0]?.trim() ?? '';
    return [pair, ...flags(x, name, attributes).map((attribute) => ` ${attribute.trim()}`)].join(';');
  };
}
