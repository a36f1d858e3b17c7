import { type DirectiveNode, namesText } from '../../../../../grammar/index.ts';
import { type BlockView, groupBy, serverOf } from '../../../../config/index.ts';
import { type CheckedConfig, matchOf, type Problem, type Rule } from '../../../../contract/index.ts';
import {
  type CachedPass,
  cachedPasses,
  isForFiles,
  mayName,
  type Prefix,
  sentHeaders,
} from './cached-passes.ts';

type Config = CheckedConfig;

const CACHE = 'proxy_cache_path /var/cache/gw keys_zone=pages:10m;';

/** Variables by which sites differ. */
const HOST = /^(?:host|http_host|server_name|ssl_server_name|http_x_forwarded_host|http_authority)$/;
/** Variables by which pages differ. */
const PATH =
  /^(?:request_uri|uri|document_uri|request|request_filename|realpath_root|args|query_string|arg_\w+)$/;
const QUERY = /^(?:request_uri|request|args|query_string|arg_\w+|http_x_original_ur[il])$/;
const METHOD = /^(?:request_method|request)$/;
const BODY = /^(?:request_body\w*|http_content_md5|http_digest|http_content_digest|http_idempotency_key)$/;

const cacheKeyUnsafe: Rule = {
  id: 'GW418',
  slug: 'cache-key-unsafe',
  severity: 'warning',
  summary: 'different pages have the same cache key',
  why: 'Requests with the same key get the same response, the first one that was stored. Without the host, a site shows pages of others; without the URI, all pages are the same.',
  fix: 'Build the key from "$scheme", "$host" and "$request_uri".',
  bad: {
    in: 'http',
    text: `${CACHE}
proxy_cache_key $request_uri;
proxy_cache_valid 10m;
server {
  listen 127.0.0.1:80 default_server;
  server_name a.example;
  location / { proxy_pass http://127.0.0.1:9000; proxy_cache pages; }
}
server {
  listen 127.0.0.1:80;
  server_name b.example;
  location / { proxy_pass http://127.0.0.1:9001; proxy_cache pages; }
}`,
  },
  good: {
    in: 'http',
    text: `${CACHE}
proxy_cache_key $host$request_uri;
proxy_cache_valid 10m;
server {
  listen 127.0.0.1:80 default_server;
  server_name a.example;
  location / { proxy_pass http://127.0.0.1:9000; proxy_cache pages; }
}
server {
  listen 127.0.0.1:80;
  server_name b.example;
  location / { proxy_pass http://127.0.0.1:9001; proxy_cache pages; }
}`,
  },
  *check(config): Iterable<Problem> {
    yield* sharedBySites(config);
    const told = new Set<DirectiveNode>();
    for (const pass of cachedPasses(config)) {
      const { node } = pass.key;
      const finding = node && !told.has(node) ? pathFinding(config, pass, node) : undefined;
      if (!node || !finding) continue;
      told.add(node);
      yield finding;
    }
  },
};

/** The key has no path, or no query. */
function pathFinding(config: Config, pass: CachedPass, at: DirectiveNode): Problem | undefined {
  const { key, isLiteral } = pass;
  const match = matchOf(pass.block);
  if (!mayName(config, key.names, PATH)) {
    if (match?.kind === 'exact') return undefined;
    return { at, message: 'all pages share one stored response: the key has no URI' };
  }
  if (mayName(config, key.names, QUERY) || isForFiles(pass)) return undefined;
  // With variables, the configuration determines which part of the query is sent.
  if (!isLiteral) return undefined;
  const message = 'requests that differ in the query only share a stored response: the key has no "$args"';
  return { at, message, severity: 'info' };
}

/** The locations that store under the same keys. */
function* sharedBySites(config: Config): Generator<Problem> {
  const withoutHost = cachedPasses(config).filter(({ key }) => !mayName(config, key.names, HOST));
  const told = new Set<DirectiveNode>();
  for (const group of groupBy(withoutHost, keySpace).values()) {
    const sites = group.flatMap(sitesOf);
    const [first] = group as readonly [CachedPass, ...CachedPass[]];
    const at = first.key.node ?? first.cacheNode;
    const finding = told.has(at) ? undefined : siteFinding(sites, at, first.prefix);
    if (!finding) continue;
    told.add(at);
    yield finding;
  }
}

/** Returns a text that is equal for locations with the same keys: the zone, the location and the key. */
function keySpace({ values, key, block, upstream }: CachedPass): string {
  const location = block.node?.args.map(({ value }) => value);
  const parts = key.value.parts.map((part) => {
    const isHost = typeof part !== 'string' && 'variable' in part && part.variable === 'proxy_host';
    return isHost ? upstream.replace(/(?<=^\w+:\/\/[^/]*)[/?].*$/, '') : part;
  });
  return JSON.stringify([values.cache, location, parts]);
}

/** One name of a server whose pages differ from those of other sites. */
interface Site {
  readonly name: string;
  readonly server: BlockView;
  /** The request that the upstream gets: the same upstream with the same host gives the same pages. */
  readonly origin: string;
}

function sitesOf(pass: CachedPass): readonly Site[] {
  const { block, prefix, upstream } = pass;
  const server = serverOf(block);
  if (!server) return [];
  // FastCGI and similar programs get the client's host unless the configuration says otherwise.
  const host = sentHeaders(pass).get('host')?.value ?? (prefix === 'proxy' ? undefined : '$http_host');
  const names = server.own('server_name').flatMap(({ args }) => args.map(({ value }) => value.toLowerCase()));
  const known = names.filter((name) => name !== '' && name !== '_');
  return known.map((name) => {
    const site = name.replace(/^www\./, '');
    const passed = host !== undefined && /\$\{?(?:http_)?host\b|\$\{?server_name\b/i.test(host);
    return { name: site, server, origin: `${upstream} ${passed ? site : (host ?? '')}` };
  });
}

function siteFinding(sites: readonly Site[], at: DirectiveNode, prefix: Prefix): Problem | undefined {
  const distinct = [...new Map(sites.map((site) => [site.origin, site])).values()];
  const why = 'share stored responses: the key has no host';
  const hint = `add "$host" to "${prefix}_cache_key"`;
  const many = distinct.find(({ name, origin }) => isPattern(name) && origin.endsWith(` ${name}`));
  if (many) return { at, message: `all sites of "${many.name}" ${why}`, hint };
  const names = new Set(distinct.map(({ name }) => name));
  if (names.size < 2) return undefined;
  const isOneServer = new Set(distinct.map(({ server }) => server)).size === 1;
  const message = `${namesText([...names])} ${why}`;
  // The names of one server are most often names of one site.
  return { at, message, hint, ...(isOneServer && { severity: 'info' as const }) };
}

function isPattern(name: string): boolean {
  return /^[.~*]|\*$/.test(name);
}

const cacheKeyMethod: Rule = {
  id: 'GW423',
  slug: 'cache-key-method',
  severity: 'warning',
  summary: 'requests with different methods or bodies have the same cache key',
  why: 'A response to HEAD, which has no body, is served to GET, and the response to one POST is served to all others, whatever they send.',
  fix: 'Add "$request_method" to the key, and "$request_body" if responses to POST are stored.',
  bad: {
    in: 'http',
    text: `${CACHE}
server {
  listen 127.0.0.1:80;
  location / {
    proxy_pass http://127.0.0.1:9000;
    proxy_cache pages;
    proxy_cache_valid 10m;
    proxy_cache_convert_head off;
  }
}`,
  },
  good: {
    in: 'http',
    text: `${CACHE}
server {
  listen 127.0.0.1:80;
  location / {
    proxy_pass http://127.0.0.1:9000;
    proxy_cache pages;
    proxy_cache_key $request_method$scheme$host$request_uri;
    proxy_cache_valid 10m;
    proxy_cache_convert_head off;
  }
}`,
  },
  *check(config): Iterable<Problem> {
    const told = new Set<string>();
    for (const pass of cachedPasses(config)) {
      for (const problem of methodFindings(config, pass)) {
        const which = JSON.stringify([problem.message, pass.key.node?.span ?? pass.cacheNode.span]);
        if (told.has(which)) continue;
        told.add(which);
        yield problem;
      }
    }
  },
};

function* methodFindings(config: Config, { values, key, nodes, prefix }: CachedPass): Generator<Problem> {
  const hasMethod = mayName(config, key.names, METHOD);
  const [convertHead] = nodes('cacheConvertHead');
  if (convertHead && !values.cacheConvertHead && !hasMethod) {
    const message = 'GET and HEAD share stored responses: the key has no "$request_method"';
    yield { at: convertHead, message, hint: `add "$request_method" to "${prefix}_cache_key"` };
  }
  const [methods] = nodes('cacheMethods');
  const writing = (values.cacheMethods ?? []).filter((method) => method !== 'GET' && method !== 'HEAD');
  if (!methods || writing.length === 0) return;
  const lacking = [
    ...(hasMethod ? [] : ['$request_method']),
    ...(mayName(config, key.names, BODY) || writing.join() === 'OPTIONS' ? [] : ['$request_body']),
  ];
  if (lacking.length === 0) return;
  const what = writing.length === 1 ? `responses to ${writing[0]}` : `responses to ${writing.join(', ')}`;
  yield {
    at: methods,
    message: `${what} are stored, but the key has no ${namesText(lacking)}`,
    hint: `add ${namesText(lacking)} to "${prefix}_cache_key"`,
  };
}

/** Rules about the keys of caches. */
export const CACHE_KEY_RULES: readonly Rule[] = [cacheKeyUnsafe, cacheKeyMethod];
