import { moduleFor } from '../../contract/index.ts';
import type { ProxyConfig } from './config.ts';
import { directives } from './directives/index.ts';
import { explanation } from './explanation.ts';
import { compileForwarding } from './handler.ts';
import { provision } from './provision.ts';
import type { Provisioned } from './provision.ts';
import { addressOf } from './target.ts';
import { validate } from './validate.ts';
import { families, variables } from './variables.ts';

/** nginx's proxy module: answers requests with what an HTTP upstream says. */
export const proxy = moduleFor<ProxyConfig>()<Provisioned>({
  name: 'proxy',
  directives,
  variables,
  families,
  content: 'pass',
  enabled: ({ pass }) => pass !== undefined,
  validate,
  upstreams: ({ pass }) => (pass?.kind === 'literal' ? [{ ...addressOf(pass), field: 'pass' }] : []),
  provision,
  compile(config, provisioned, build) {
    if (!config.pass) return {};
    return { content: compileForwarding(config.pass, config, { provisioned, build }), slashRedirect: true };
  },
  explanation,
});
