import { hostOf, isName } from '../../addresses.ts';
import { literalPasses, passes, upstreamNamed } from '../../proxying.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { textsOf } from '../../variable-texts.ts';

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
        message: `"proxy_pass" has to look up "${host}" for each request: no "resolver" is defined`,
        hint: 'add "resolver" with the address of your name server',
      };
    }
  },
};

/** A host that no group of servers has; one that only requests know counts where there is no group it could mean. */
function nameToResolve(config: CheckedConfig, url: string): string | undefined {
  const written = url.replace(PATHS, '');
  const texts = textsOf(config, written) ?? textsOf(config, authorityOf(written));
  if (texts) return texts.map(authorityOf).find((authority) => mustBeResolved(config, authority));
  const [before = ''] = authorityOf(written).split('$');
  const isDecided = upstreamNamed(config, hostOf(before)) ?? !isName(hostOf(before) || 'name');
  return isDecided || config.blocks('upstream').length > 0 ? undefined : authorityOf(written);
}

function authorityOf(url: string): string {
  return url.replace(/^[^/]*:\/\//, '').replace(/^(?!unix:)([^/?]*).*$/s, '$1');
}

function mustBeResolved(config: CheckedConfig, authority: string): boolean {
  const host = hostOf(authority);
  if (!isName(host) || upstreamNamed(config, host)) return false;
  // A group of its own is known by a literal "proxy_pass" elsewhere.
  return !literalPasses(config).some(({ target }) => target.host.toLowerCase() === host.toLowerCase());
}
