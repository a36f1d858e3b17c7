import { type DirectiveNode, namesText } from '../../../../../grammar/index.ts';
import { authIn, type CheckedConfig, type Problem, type Rule, UNKNOWN } from '../../../../contract/index.ts';
import { type CachedPass, cachedPasses, isForFiles, mayName, namesIn, sentHeaders } from './cached-passes.ts';

type Config = CheckedConfig;

const location = (text: string): string => `proxy_cache_path /var/cache/gw keys_zone=pages:10m;
server {
  listen 127.0.0.1:80;
  location / {
    proxy_pass http://127.0.0.1:9000;
    proxy_cache pages;
    proxy_cache_valid 10m;
${text}
  }
}`;

/** Variables by which clients differ. */
const CLIENT =
  /^(?:http_authorization|http_proxy_authorization|http_cookie|cookie_\w+|remote_user|ssl_client_\w+|http_x_\w*(?:token|key|user|auth)\w*|remote_addr|binary_remote_addr)$/;
/** Variables by which clients sign in. A cookie that only switches the cache off does not count. */
const SIGNED_IN =
  /^(?:http_authorization|http_cookie|remote_user|cookie_(?!\w*(?:no_?cache|cache|bypass|refresh|purge|debug|preview))\w+)$/;
const CREDENTIALS = ['authorization', 'cookie', 'x-auth-token', 'x-api-key'];

const cacheCredentials: Rule = {
  id: 'GW419',
  slug: 'cache-credentials',
  severity: 'warning',
  summary: 'responses to signed-in clients are stored for all clients',
  why: 'A response is stored unless its headers forbid it, regardless of the client. If the upstream omits "Cache-Control: private" once, a client gets the page of another one. With "proxy_cache_bypass" alone, that page is stored, too, and served to clients who have not signed in.',
  fix: 'Put the credential into both "proxy_cache_bypass" and in "proxy_no_cache", or make it part of the key.',
  bad: {
    in: 'http',
    text: location('    proxy_set_header Authorization $http_authorization;'),
  },
  good: {
    in: 'http',
    text: location(
      '    proxy_set_header Authorization $http_authorization;\n    proxy_cache_bypass $http_authorization;\n    proxy_no_cache $http_authorization;',
    ),
  },
  *check(config): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const pass of cachedPasses(config)) {
      const finding = credentialFinding(config, pass);
      if (!finding || told.has(finding.at)) continue;
      told.add(finding.at);
      yield finding;
    }
  },
};

type Finding = Problem & { readonly at: DirectiveNode };

/** Returns whether stored responses belong to one client, or no response to a signed-in client is stored. */
function isSeparate(config: Config, { key, values }: CachedPass): boolean {
  const refusing = namesIn((values.noCache ?? []).flat());
  return mayName(config, key.names, CLIENT) || mayName(config, refusing, CLIENT);
}

function credentialFinding(config: Config, pass: CachedPass): Finding | undefined {
  if (isSeparate(config, pass)) return undefined;
  const { values, nodes, prefix } = pass;
  const [bypass] = nodes('cacheBypass');
  const names = [...namesIn((values.cacheBypass ?? []).flat())];
  const named = names.filter((name) => SIGNED_IN.test(name)).map((name) => `$${name}`);
  if (bypass && named.length > 0) {
    const message = `responses to requests with ${namesText(named)} are stored and served to other clients`;
    return { at: bypass, message, hint: `add "${prefix}_no_cache ${named.join(' ')}"` };
  }
  if (isForFiles(pass)) return undefined;
  return sentFinding(config, pass) ?? authFinding(pass);
}

/** The upstream gets the credentials of the client. */
function sentFinding(config: Config, pass: CachedPass): Finding | undefined {
  const { block, prefix } = pass;
  const granted = new Set(
    block.effective('auth_request_set').map(({ args }) => args[0]?.value.replace('$', '').toLowerCase()),
  );
  for (const [name, { node, value }] of sentHeaders(pass)) {
    const named = [...value.matchAll(/\$\{?(\w+)/g)].map((match) => (match[1] as string).toLowerCase());
    const isIdentity = named.some((variable) => granted.has(variable) || variable === 'remote_user');
    const isCredential =
      CREDENTIALS.includes(name) && config.textsOf(value).some((text) => text.includes(UNKNOWN));
    if (!isIdentity && !isCredential) continue;
    const header = node.args[0]?.value ?? name;
    const message = `the upstream gets "${header}" of one client, but its response is stored for all clients`;
    return {
      at: node,
      message,
      hint: `add it to "${prefix}_no_cache" and "${prefix}_cache_bypass", or to the key`,
    };
  }
  return undefined;
}

/** Clients sign in to gw. Whether the upstream uses that is not in the configuration. */
function authFinding({ block }: CachedPass): Finding | undefined {
  const [auth] = authIn(block);
  if (!auth) return undefined;
  const message = `all clients that pass "${auth.name.value}" share stored responses`;
  return { at: auth, message, severity: 'info' };
}

const cacheIgnoredHeaders: Rule = {
  id: 'GW420',
  slug: 'cache-ignored-headers',
  severity: 'warning',
  summary: 'response headers that restrict storing are ignored',
  why: 'A response with "Set-Cookie" is for one client. If it is stored and served to all, all get the session of the first. "Cache-Control" can say that a response is private, and "Vary" that it depends on a request header.',
  fix: 'If "Set-Cookie" is ignored, hide it with "proxy_hide_header". Ignore other headers only for files that are the same for all clients.',
  bad: {
    in: 'http',
    text: location('    proxy_ignore_headers Set-Cookie;'),
  },
  good: {
    in: 'http',
    text: location('    proxy_ignore_headers Set-Cookie;\n    proxy_hide_header Set-Cookie;'),
  },
  *check(config): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const pass of cachedPasses(config)) {
      for (const finding of ignoringFindings(config, pass)) {
        if (told.has(finding.at)) continue;
        told.add(finding.at);
        yield finding;
      }
    }
  },
};

function* ignoringFindings(config: Config, pass: CachedPass): Generator<Finding> {
  const { values, key, nodes, prefix } = pass;
  const node = (header: string): DirectiveNode | undefined =>
    nodes('ignoreHeaders').find(({ args }) => args.some(({ value }) => value.toLowerCase() === header));
  const cookie = node('set-cookie');
  const hides = values.hideHeaders?.some((name) => name.toLowerCase() === 'set-cookie');
  if (cookie && !hides && !isSeparate(config, pass)) {
    const message = 'responses with "Set-Cookie" are stored: all clients get the cookie of the first';
    yield { at: cookie, message, hint: `add "${prefix}_hide_header Set-Cookie", or do not ignore it` };
    return;
  }
  const control = node('cache-control');
  if (control && !isSeparate(config, pass) && !isForFiles(pass)) {
    const message = 'responses are stored even if their "Cache-Control" is "private" or "no-store"';
    yield { at: control, message, severity: 'info' };
    return;
  }
  const vary = node('vary');
  const encoding = sentHeaders(pass).get('accept-encoding')?.value;
  const isFixed = encoding !== undefined && !encoding.includes('$');
  if (vary && !isFixed && !mayName(config, key.names, /^http_\w+$/)) {
    const message = 'variants of a response, such as compressed ones, are stored as one';
    yield { at: vary, message, severity: 'info' };
  }
}

/** Rules about responses that are meant for one client. */
export const CACHE_PRIVACY_RULES: readonly Rule[] = [cacheCredentials, cacheIgnoredHeaders];
