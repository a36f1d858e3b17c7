import type { Span } from '../../../../grammar/index.ts';
import { secretSpans } from '../../../config/index.ts';
import type { CheckedConfig, Problem, Rule, Use } from '../../rule.ts';

/** Expanded at load; a default in it is for trying things out. */
const EXPANSION = /\$\{(?:env|file):/;
const VARIABLES = /\$(?:\{\w+\}|\w+)/g;
/** Keys that everybody may know: those that tokens are verified with and cannot be signed with. */
const PUBLIC_KEY = /-----BEGIN (?:PUBLIC KEY|CERTIFICATE)-----|"kty"\s*:\s*"(?:RSA|EC|OKP)"/;

export const secretInClear: Rule = {
  id: 'GW320',
  slug: 'secret-in-clear',
  severity: 'warning',
  summary: 'a password or a key stands in the configuration',
  why: 'It ends up in version control, in backups and in everything that shows the configuration.',
  fix: 'Let the environment or a file hold it: "${env:NAME}" or "${file:/run/secrets/name}".',
  bad: {
    in: 'location',
    text: 'proxy_pass http://127.0.0.1:9000;\nproxy_set_header Authorization "Bearer 3f9c0e6b1d";',
  },
  good: {
    in: 'location',
    text: 'proxy_pass http://127.0.0.1:9000;\nproxy_set_header Authorization "Bearer ${file:token}";',
    files: { token: '3f9c0e6b1d' },
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const use of secretUses(config)) {
      const [first] = secretsOf(use, config);
      if (!first) continue;
      yield {
        at: first,
        message: `"${use.node.name.value}" has its secret in the configuration`,
        hint: 'use "${env:NAME}" or "${file:PATH}"',
      };
    }
  },
};

/** The directives that may hold secrets. */
function secretUses({ registry, uses }: CheckedConfig): readonly Use[] {
  const names = registry.entries.flatMap(({ name, row }) => (row.secret ? name : []));
  return uses(...new Set(names));
}

function secretsOf({ node }: Use, { registry }: CheckedConfig): readonly Span[] {
  const { block: _inner, ...alone } = node;
  return secretSpans({ directives: [alone], sources: [] }, registry).filter(({ source, start, end }) => {
    const text = source.text.slice(start, end);
    return !EXPANSION.test(text) && !PUBLIC_KEY.test(text) && /\w/.test(text.replace(VARIABLES, ''));
  });
}
