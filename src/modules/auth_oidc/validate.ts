import { constantText } from '../../config/index.ts';
import type { ConfigReport } from '../../contract/index.ts';
import { type AuthOidcConfig, fixedName } from './directives.ts';
import { NEEDED } from './nginz-directives.ts';

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
  if (config.oidc === true) {
    for (const [field, directive] of NEEDED)
      if (config[field] === undefined) report.on('oidc', `requires "${directive}"`);
    if (config.protection !== undefined && constantText(config.protection) !== 'off')
      report.on('oidc', 'stands beside "auth_oidc": one of them is enough');
    return;
  }
  const fixed = fixedName(config);
  if (fixed === undefined || fixed === 'off' || names.has(fixed)) return;
  report.phrase('protection', `unknown OpenID provider "${fixed}"`, {
    rule: 'bad-reference',
    hint: `declare it in the http block: oidc_provider ${fixed} { ... }`,
  });
}
