import { moduleFor } from '../../contract/index.ts';
import {
  addressExplanation,
  addressModule,
  compileForwarding,
  type Provisioned,
  provisionForwarding,
  stickyFilter,
} from '../../forwarding/index.ts';
import type { FastcgiConfig } from './config.ts';
import { directives } from './directives.ts';
import { compileFastcgi } from './fastcgi-protocol.ts';
import { FastcgiReader } from './fastcgi-reader.ts';
import { scriptVariables, variables } from './script.ts';

/** nginx's FastCGI module: passes requests to a program such as php-fpm. */
export const fastcgi = moduleFor<FastcgiConfig>()<Provisioned>({
  name: 'fastcgi',
  summary: 'Forwards requests to FastCGI servers, such as PHP.',
  directives,
  variables,
  ...addressModule<FastcgiConfig>('fastcgi'),
  enabled: ({ pass, splitPathInfo, index }) =>
    pass !== undefined || splitPathInfo !== undefined || index !== '',
  provision(config, worker) {
    const { keepsConnection, catchStderr: catches = [] } = config;
    return provisionForwarding(config, worker, {
      protocol: `fastcgi ${JSON.stringify([keepsConnection, catches])}`,
      reader: () => new FastcgiReader({ keepsConnection, catches }),
    });
  },
  defines: (config) => scriptVariables(config),
  compile(config, provisioned, build) {
    const { pass } = config;
    if (!pass) return {};
    const protocol = compileFastcgi(pass, config, { provisioned, build });
    return {
      content: compileForwarding({ config, provisioned, protocol }, build),
      slashRedirect: true,
      ...stickyFilter(provisioned),
    };
  },
  explanation: addressExplanation('fastcgi', compileFastcgi),
  rules: () => import('./rules.ts'),
});
