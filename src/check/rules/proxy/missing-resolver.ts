import { hostOf, isName } from '../../addresses.ts';
import { literalPasses, passes, upstreamNamed, upstreams } from '../../proxying.ts';
import { oncePer } from '../../once-per.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { textsOf, UNKNOWN } from '../../variable-texts.ts';
import { shown } from '../../shown.ts';

/** They begin with the slash that ends the host. */
const PATHS = /\$\{?(?:request_uri|uri|document_uri|is_args|args)\b.*$/is;

export const missingResolver: Rule = {
  id: 'GW401',
  slug: 'missing-resolver',
  severity: 'error',
  summary: 'a host in a variable, and no resolver to ask for its address',
  why: 'A "proxy_pass" with variables looks its host up for each request. Without "resolver" every one of them ends in 502.',
  fix: 'Add "resolver" with the address of a name server, or name an "upstream" block.',
  bad: { in: 'location', text: 'set $api api.internal;\nproxy_pass http://$api:8080;' },
  good: {
    in: 'location',
    text: 'resolver 10.0.0.2;\nset $api api.internal;\nproxy_pass http://$api:8080;',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block, target } of passes(config)) {
      if (target.kind === 'literal' || block.config('core')['resolver'] !== undefined) continue;
      const host = nameToResolve(config, node.args[0]?.value ?? '');
      if (host === undefined) continue;
      yield {
        at: node,
        message: `"proxy_pass" has to look up "${shown(node.args[0], host)}" for each request: no "resolver" is defined`,
        hint: 'add "resolver" with the address of your name server',
      };
    }
  },
};

/** The first host that no group of servers has. */
function nameToResolve(config: CheckedConfig, url: string): string | undefined {
  const written = url.replace(PATHS, '');
  const found = textsOf(config, written)
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
  // What follows a group, an address or a port is a path.
  if (host !== '' && (!isName(host) || isKnown(config, host))) return false;
  if (rest.length === 0) return host !== '';
  // A request may well choose a group, or an address.
  const hasLetters = /[a-z]/i.test(rest.join('') + host);
  return known.includes(':') || (upstreams(config).size === 0 && hasLetters);
}

function isKnown(config: CheckedConfig, host: string): boolean {
  // A group of its own is known by a literal "proxy_pass" elsewhere.
  return upstreamNamed(config, host) !== undefined || literalHosts(config).has(host.toLowerCase());
}

const literalHosts = oncePer(
  (config: CheckedConfig) => new Set(literalPasses(config).map(({ target }) => target.host.toLowerCase())),
);
