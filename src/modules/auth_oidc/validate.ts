import type { ConfigReport } from '../../contract/index.ts';
import { type AuthOidcConfig, fixedName } from './directives.ts';

/** Checks the providers and the one that a location names. */
export function validate(config: AuthOidcConfig, report: ConfigReport<AuthOidcConfig>): void {
  const { providers = [] } = config;
  const names = new Set<string>();
  for (const [index, { name }] of providers.entries()) {
    if (names.has(name))
      report.phrase('providers', `duplicate OpenID provider "${name}"`, {
        index,
        rule: 'duplicate-directive',
      });
    names.add(name);
  }
  const fixed = fixedName(config);
  if (fixed === undefined || fixed === 'off' || names.has(fixed)) return;
  report.phrase('protection', `unknown OpenID provider "${fixed}"`, {
    rule: 'bad-reference',
    hint: `declare it in the http block: oidc_provider ${fixed} { ... }`,
  });
}
