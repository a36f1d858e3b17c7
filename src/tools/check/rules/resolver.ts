import { type DirectiveNode, shown } from '../../../../grammar/index.ts';
import { type BlockView, hostOf, isLocal, isName, oncePer } from '../../../config/index.ts';
import {
  type CheckedConfig,
  configOf,
  literalPasses,
  passes,
  type Problem,
  type Rule,
  UNKNOWN,
} from '../../../contract/index.ts';
import { upstreams } from '../upstreams.ts';

/** Variables that begin with the slash after the host. */
const PATHS = /\$\{?(?:request_uri|uri|document_uri|is_args|args)\b.*$/is;

const missingResolver: Rule = {
  id: 'GW401',
  slug: 'missing-resolver',
  severity: 'error',
  summary: 'a host in a variable, but no resolver',
  why: 'A "proxy_pass" with variables looks up its host for each request. Without "resolver", all of them get 502.',
  fix: 'Add "resolver" with the address of a name server, or use an "upstream" block.',
  bad: { in: 'location', text: 'set $api api.internal;\nproxy_pass http://$api:8080;' },
  good: {
    in: 'location',
    text: 'resolver 10.0.0.2;\nset $api api.internal;\nproxy_pass http://$api:8080;',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block, target } of passes(config)) {
      if (target.kind === 'literal' || configOf(block.level, 'core').resolver !== undefined) continue;
      const host = nameToResolve(config, node.args[0]?.value ?? '', block);
      if (host === undefined) continue;
      yield {
        at: node,
        message: `"proxy_pass" has to look up "${shown(node.args[0], host)}" for each request, but there is no "resolver"`,
        hint: 'add "resolver" with the address of your name server',
      };
    }
  },
};

/** The first host that must be resolved. */
function nameToResolve(config: CheckedConfig, url: string, block: BlockView): string | undefined {
  const written = url.replace(PATHS, '');
  const found = config
    .textsOf(written, block)
    .map(authorityOf)
    .find((authority) => mustBeResolved(config, authority));
  return found?.includes(UNKNOWN) ? authorityOf(written) : found;
}

function authorityOf(url: string): string {
  return url.replace(/^[^/]*:\/\/(?:[^/@]*@)?/, '').replace(/^(?!unix:)([^/?]*).*$/s, '$1');
}

function mustBeResolved(config: CheckedConfig, authority: string): boolean {
  const [known = '', ...rest] = authority.split(UNKNOWN);
  const host = hostOf(known);
  // After a group, an address or a port, only a path follows.
  if (host !== '' && (!isName(host) || isKnown(config, host))) return false;
  if (rest.length === 0) return host !== '';
  // The variable may contain a group or an address.
  const hasLetters = /[a-z]/i.test(rest.join('') + host);
  return known.includes(':') || (upstreams(config).size === 0 && hasLetters);
}

function isKnown(config: CheckedConfig, host: string): boolean {
  // A literal "proxy_pass" elsewhere makes the host a group.
  return config.upstream(host) !== undefined || literalHosts(config).has(host.toLowerCase());
}

const literalHosts = oncePer(
  (config: CheckedConfig) => new Set(literalPasses(config).map(({ target }) => target.host.toLowerCase())),
);

const RESOLVE_HINT = 'write "server NAME resolve;" in an "upstream" block, and add "resolver"';

const staticDns: Rule = {
  id: 'GW402',
  slug: 'static-dns',
  severity: 'warning',
  summary: 'the name of an upstream is looked up only once',
  why: 'The name is looked up at the start. When its addresses change, requests go to the old ones until the next reload.',
  fix: 'Write "server NAME resolve;" in an "upstream" block, and add "resolver". nginx also needs "zone" in the block.',
  bad: { in: 'location', text: 'proxy_pass http://api.internal:8080;\nproxy_set_header Host $host;' },
  good: {
    in: 'http',
    text: 'resolver 10.0.0.2;\nupstream api {\n    server api.internal:8080 resolve;\n}\nserver {\n    listen 127.0.0.1:8080;\n    location / {\n        proxy_pass http://api;\n        proxy_set_header Host $host;\n    }\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const told = new Set<string>();
    for (const { node, host } of [...hostsPassedTo(config), ...hostsOfGroups(config)]) {
      if (!isName(host) || isLocal(host) || told.has(host)) continue;
      told.add(host);
      yield {
        at: node,
        message: `"${shown(node.args[0], host)}" is looked up only once, at the start`,
        hint: RESOLVE_HINT,
      };
    }
  },
};

interface WrittenHost {
  readonly node: DirectiveNode;
  readonly host: string;
}

function hostsPassedTo(config: CheckedConfig): readonly WrittenHost[] {
  return literalPasses(config).flatMap(({ node, target: { host } }) =>
    config.upstream(host) ? [] : [{ node, host }],
  );
}

function hostsOfGroups(config: CheckedConfig): readonly WrittenHost[] {
  return config.uses('server').flatMap(({ node, block }) => {
    const [address, ...parameters] = node.args;
    if (block.context !== 'upstream' || !address) return [];
    const isSpared = parameters.some(({ value }) => value === 'resolve' || value === 'down');
    return isSpared ? [] : [{ node, host: hostOf(address.value) }];
  });
}

/** Public name servers. */
const PUBLIC_RESOLVERS: readonly RegExp[] = [
  /^8\.8\.(?:8\.8|4\.4)$|^2001:4860:4860:/i,
  /^1\.(?:1\.1\.[1-3]|0\.0\.[1-3])$|^2606:4700:4700:/i,
  /^(?:9\.9\.9|149\.112\.112)\.\d+$|^2620:fe:/i,
  /^208\.67\.22[02]\.\d+$|^2620:119:/i,
  /^(?:94\.140\.1[45]|76\.76\.(?:2|10)|185\.228\.16[89]|64\.6\.6[45]|77\.88\.8|45\.90\.(?:28|30))\.\d+$/,
  /^(?:4\.2\.2\.[1-6]|223\.5\.5\.5|223\.6\.6\.6|119\.29\.29\.29|114\.114\.11[45]\.11[45])$/,
  /^(?:dns\.google|one\.one\.one\.one|dns\.quad9\.net)\.?$/i,
];

const resolverExternal: Rule = {
  id: 'GW403',
  slug: 'resolver-external',
  severity: 'warning',
  summary: 'a public name server decides where requests go',
  why: 'Responses of name servers are not protected on their way: an attacker who forges one gets the requests. Internal names are unknown to a public server.',
  fix: 'Use a name server in your own network or on this machine.',
  bad: { text: 'resolver 8.8.8.8;' },
  good: { text: 'resolver 127.0.0.53;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    if (asksForStaplesOnly(config)) return;
    for (const { node } of config.uses('resolver')) {
      for (const word of node.args) {
        const host = hostOf(word.value);
        if (PUBLIC_RESOLVERS.some((servers) => servers.test(host)))
          yield { at: word.span, message: `"${shown(word, host)}" is a public name server` };
      }
    }
  },
};

/** With stapling on, and no host that is looked up while requests are served: OCSP responses are signed. */
function asksForStaplesOnly(config: CheckedConfig): boolean {
  if (!config.uses('ssl_stapling').some(({ node }) => node.args[0]?.value === 'on')) return false;
  const looksUp = passes(config).some(({ target }) => target.kind !== 'literal');
  return (
    !looksUp && !config.uses('server').some(({ node }) => node.args.some(({ value }) => value === 'resolve'))
  );
}

/** The rules about resolving upstreams. */
export const RESOLVER_RULES: readonly Rule[] = [missingResolver, staticDns, resolverExternal];
