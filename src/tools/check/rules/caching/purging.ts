import type { DirectiveNode } from '../../../../../grammar/index.ts';
import {
  type CheckedConfig,
  KEEP_OUT,
  nodesOf,
  type Problem,
  type Rule,
} from '../../../../contract/index.ts';
import { cachedPasses, namesIn } from './cached-passes.ts';

const location = (text: string): string => `proxy_cache_path /var/cache/gw keys_zone=pages:10m;
map $request_method $purge {
  default 0;
  PURGE 1;
}
server {
  listen 80;
  location / {
    proxy_pass http://127.0.0.1:9000;
    proxy_cache pages;
    proxy_cache_key $scheme$host$request_uri;
    proxy_cache_valid 10m;
    proxy_cache_purge $purge;${text}
  }
}`;

/** Variables that a client can set freely. */
const CLIENT = /^(?:arg_|http_|cookie_|request_method$|request$|uri$|request_uri$|args$|query_string$)/;

const cachePurgeRequest: Rule = {
  id: 'GW434',
  slug: 'cache-purge-request',
  severity: 'error',
  summary: 'anyone can remove stored responses',
  why: 'A client that sends the value that "proxy_cache_purge" tests can remove the response or, with "*" at the end of the key, all responses with that prefix. All requests then go to the upstream.',
  fix: 'Add a variable of "geo" that lists the addresses that may purge, or restrict access to the location.',
  bad: { in: 'http', text: location('') },
  good: { in: 'http', text: location('\n    allow 10.0.0.0/8;\n    deny all;') },
  *check(config): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const { block, values, prefix } of cachedPasses(config)) {
      const [at] = nodesOf(block, prefix, 'cachePurge');
      const names = [...namesIn((values.cachePurge ?? []).flat())];
      if (!at || told.has(at) || !config.isOpen(block)) continue;
      if (!names.some((name) => isChosenByClients(config, name))) continue;
      told.add(at);
      const message = `"${prefix}_cache_purge" lets anyone remove stored responses`;
      yield { at, message, hint: KEEP_OUT };
    }
  },
};

/** The client sets the variable, itself or through a `map`. */
function isChosenByClients(config: CheckedConfig, name: string): boolean {
  if (CLIENT.test(name)) return true;
  const map = config.uses('map').find(({ node }) => node.args[1]?.value.toLowerCase() === `$${name}`);
  const sources = [...(map?.node.args[0]?.value.toLowerCase().matchAll(/\$\{?(\w+)/g) ?? [])];
  // If several variables decide, one of them may test the client.
  return sources.length > 0 && sources.every(([, source = '']) => CLIENT.test(source));
}

/** Rules about removing stored responses. */
export const CACHE_PURGE_RULES: readonly Rule[] = [cachePurgeRequest];
