import type { Build } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import type { LiteralTarget, ProxyConfig, RedirectRule } from './config.ts';
import { compileReplacement, firstOf } from './replacements.ts';
import type { Rewrite } from './replacements.ts';

/** How `Location` and `Refresh` of an answer are rewritten. */
export interface Redirects {
  location(x: Exchange, value: string): string;
  refresh(x: Exchange, value: string): string;
}

/** `proxy_redirect` of one location; `undefined` where nothing is rewritten. */
export function compileRedirects(
  { pass, redirects = ['default'] }: ProxyConfig,
  build: Build,
): Redirects | undefined {
  const rewrites = redirects.flatMap(
    (rule) => compileRule(rule, pass?.kind === 'literal' ? pass : undefined, build) ?? [],
  );
  if (redirects.includes('off') || rewrites.length === 0) return undefined;
  const rewrite = firstOf(rewrites);
  return {
    location: (x, value) => {
      const rewritten = rewrite(x, value);
      return rewritten === undefined ? value : x.absolute(rewritten);
    },
    refresh: (x, value) => {
      const start = value.toLowerCase().indexOf('url=');
      if (start < 0) return value;
      const rewritten = rewrite(x, value.slice(start + 4));
      return rewritten === undefined ? value : value.slice(0, start + 4) + rewritten;
    },
  };
}

function compileRule(rule: RedirectRule, pass: LiteralTarget | undefined, build: Build): Rewrite | undefined {
  if (rule === 'off') return undefined;
  if (rule !== 'default') return compileReplacement(rule, 'prefix', build);
  return pass && compileDefault(pass, build);
}

/** What leads into the upstream leads into the location (nginx: `proxy_redirect default`). */
function compileDefault({ url, uri }: LiteralTarget, build: Build): Rewrite {
  const [prefix, by] = uri === '' ? [`${url}/`, '/'] : [url, build.location.path];
  return (_x, text) => (text.startsWith(prefix) ? by + text.slice(prefix.length) : undefined);
}
