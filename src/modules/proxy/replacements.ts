import type { Build, LiteralTarget } from '../../contract/index.ts';
import type { HeaderRewrite } from '../../forwarding/index.ts';
import { compileRegex, type Exchange } from '../../http/index.ts';
import type {
  CookieFlagsRule,
  CookieRule,
  Pattern,
  ProxyConfig,
  RedirectRule,
  Replacement,
} from './config.ts';

/** Replaces a part of a text; `undefined` if the rule does not match. */
type Rewrite = (x: Exchange, text: string) => string | undefined;

/** A plain text matches as a prefix, or as the whole text regardless of case. */
type Match = 'prefix' | 'whole';

/** Compiles one `proxy_redirect`, `proxy_cookie_domain` or `proxy_cookie_path`. */
function compileReplacement({ pattern, by }: Replacement, match: Match, build: Build): Rewrite {
  const render = build.value(by);
  if (pattern.kind === 'regex') {
    const regex = compileRegex(pattern.regex);
    return (x, text) => {
      const captures = regex.exec(text);
      if (!captures) return undefined;
      // The replacement may use `$1`.
      x.captures = captures;
      keepNamed(x, { captures, names: pattern.regex.names }, build);
      // nginx: the replacement replaces the whole text, even if only a part of it matched.
      return render(x);
    };
  }
  const readPattern = build.value(pattern.value);
  if (match === 'prefix') {
    return (x, text) => {
      const prefix = readPattern(x);
      return text.startsWith(prefix) ? render(x) + text.slice(prefix.length) : undefined;
    };
  }
  // nginx: a leading dot is ignored in the rule; that of the cookie stays.
  return (x, text) => {
    const whole = withoutDot(readPattern(x)).toLowerCase();
    if (withoutDot(text).toLowerCase() !== whole) return undefined;
    return text.startsWith('.') ? `.${withoutDot(render(x))}` : withoutDot(render(x));
  };
}

function withoutDot(domain: string): string {
  return domain.startsWith('.') ? domain.slice(1) : domain;
}

interface NamedCaptures {
  readonly captures: RegExpExecArray;
  readonly names: readonly string[];
}

function keepNamed(x: Exchange, { captures, names }: NamedCaptures, build: Build): void {
  for (const name of names) (x.slots ??= [])[build.slot(name.toLowerCase())] = captures.groups?.[name];
}

/** Compiles a list of rules, of which the first that matches is applied. */
function compileRules(
  rules: readonly CookieRule[] | undefined,
  match: Match,
  build: Build,
): Rewrite | undefined {
  const rewrites = (rules ?? [])
    .filter((rule) => rule !== 'off')
    .map((rule) => compileReplacement(rule, match, build));
  return rewrites.length === 0 ? undefined : firstOf(rewrites);
}

/** Applies the first rewrite that matches. */
function firstOf(rewrites: readonly Rewrite[]): Rewrite {
  return (x, text) => {
    for (const rewrite of rewrites) {
      const rewritten = rewrite(x, text);
      if (rewritten !== undefined) return rewritten;
    }
    return undefined;
  };
}

/** An attribute of a cookie; the first is its name and value. */
interface CookieAttribute {
  readonly key: string;
  /** Absent: it has no `=`. */
  readonly value: string | undefined;
}

/** Parses a cookie; blanks around names and values are removed (nginx: ngx_http_proxy_parse_cookie). */
function parseCookie(cookie: string): readonly CookieAttribute[] {
  return cookie.split(';').map((attribute) => {
    const [, key = '', value] = ATTRIBUTE.exec(attribute) ?? [];
    return { key, value };
  });
}

const ATTRIBUTE = /^ *([^=]*?) *(?:= *(.*?) *)?$/;

function writeCookie(attributes: readonly CookieAttribute[]): string {
  return attributes.map(({ key, value }) => (value === undefined ? key : `${key}=${value}`)).join('; ');
}

type EditCookie = (x: Exchange, attributes: readonly CookieAttribute[]) => readonly CookieAttribute[];

/** `proxy_cookie_flags`: applies the flags of the first rule that matches the cookie. */
function compileCookieFlags(
  rules: readonly CookieFlagsRule[] | undefined,
  build: Build,
): EditCookie | undefined {
  const compiled = (rules ?? [])
    .filter((rule) => rule !== 'off')
    .map(({ cookie, flags }) => ({
      isIt: compileName(cookie, build),
      flags: flags.map((flag) => build.value(flag)),
    }));
  if (compiled.length === 0) return undefined;
  return (x, attributes) => {
    const name = attributes[0]?.key ?? '';
    const rule = compiled.find(({ isIt }) => isIt(x, name));
    return rule
      ? withFlags(
          attributes,
          rule.flags.map((flag) => flag(x).toLowerCase()),
        )
      : attributes;
  };
}

function compileName(cookie: Pattern, build: Build): (x: Exchange, name: string) => boolean {
  if (cookie.kind === 'regex') {
    const regex = compileRegex(cookie.regex);
    return (_x, name) => regex.test(name);
  }
  const read = build.value(cookie.value);
  return (x, name) => read(x).toLowerCase() === name.toLowerCase();
}

/** Adds and removes flags. A flag that is present keeps its position; others are appended in nginx's order. */
function withFlags(
  attributes: readonly CookieAttribute[],
  flags: readonly string[],
): readonly CookieAttribute[] {
  let changed = [...attributes];
  for (const flag of flags.toSorted((a, b) => rankOf(a) - rankOf(b))) {
    const kind = flag.replace(/^no(?=secure|httponly|samesite)/, '').split('=')[0] as string;
    const isIt = (attribute: CookieAttribute, at: number): boolean =>
      at > 0 && attribute.key.toLowerCase() === kind;
    const at = changed.findIndex(isIt);
    const [key = flag, value] = (WRITTEN[flag] ?? flag).split('=');
    if (flag.startsWith('no')) changed = changed.filter((attribute, index) => !isIt(attribute, index));
    else if (at < 0 && flag !== '') changed.push({ key, value });
    else if (kind === 'samesite') changed[at] = { key, value };
  }
  return changed;
}

/** nginx appends `Secure`, `HttpOnly` and `SameSite` in this order. */
function rankOf(flag: string): number {
  return ['secure', 'httponly', 'samesite'].findIndex((kind) => flag.startsWith(kind));
}

const WRITTEN: Readonly<Record<string, string>> = {
  secure: 'Secure',
  httponly: 'HttpOnly',
  samesite: 'SameSite',
  'samesite=strict': 'SameSite=Strict',
  'samesite=lax': 'SameSite=Lax',
  'samesite=none': 'SameSite=None',
};

/**
 * Rewrites a `Set-Cookie` header by `proxy_cookie_domain`, `_path` and `_flags`; `undefined` if none is configured. A
 * cookie that no rule matches stays unchanged; others are rebuilt (nginx: ngx_http_proxy_rewrite_cookie).
 */
function compileCookies(
  config: ProxyConfig,
  build: Build,
): ((x: Exchange, cookie: string) => string) | undefined {
  const domain = compileRules(config.cookieDomains, 'whole', build);
  const path = compileRules(config.cookiePaths, 'prefix', build);
  const flags = compileCookieFlags(config.cookieFlags, build);
  if (!domain && !path && !flags) return undefined;
  const rewriteValue = (x: Exchange, attribute: CookieAttribute): CookieAttribute => {
    const { key, value } = attribute;
    const name = key.toLowerCase();
    const rewrite = name === 'domain' ? domain : name === 'path' ? path : undefined;
    const rewritten = value === undefined ? undefined : rewrite?.(x, value);
    return rewritten === undefined ? attribute : { key, value: rewritten };
  };
  return (x, cookie) => {
    const attributes = parseCookie(cookie);
    const [pair] = attributes;
    if (pair?.value === undefined) return cookie;
    const rewritten = attributes.map((attribute) => (attribute === pair ? pair : rewriteValue(x, attribute)));
    const edited = flags?.(x, rewritten) ?? rewritten;
    const isSame = edited === rewritten && rewritten.every((attribute, at) => attribute === attributes[at]);
    return isSame ? cookie : writeCookie(edited);
  };
}

/** Rewrites `Location` and `Refresh` of a response. */
interface Redirects {
  location(x: Exchange, value: string): string;
  refresh(x: Exchange, value: string): string;
}

/** Compiles the `proxy_redirect` of one location; `undefined` if nothing is rewritten. */
function compileRedirects(
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

/** Replaces the URL of the upstream by the path of the location (nginx: `proxy_redirect default`). */
function compileDefault({ url, uri }: LiteralTarget, build: Build): Rewrite {
  const [prefix, by] = uri === '' ? [`${url}/`, '/'] : [url, build.location.path];
  return (_x, text) => (text.startsWith(prefix) ? by + text.slice(prefix.length) : undefined);
}

/** Compiles the rewrites of `Location`, `Refresh` and `Set-Cookie`. */
export function compileRewrites(config: ProxyConfig, build: Build): ReadonlyMap<string, HeaderRewrite> {
  const redirects = compileRedirects(config, build);
  const cookies = compileCookies(config, build);
  return new Map<string, HeaderRewrite>([
    ...(redirects
      ? ([
          ['location', redirects.location],
          ['refresh', redirects.refresh],
        ] as const)
      : []),
    ...(cookies ? ([['set-cookie', cookies]] as const) : []),
  ]);
}
