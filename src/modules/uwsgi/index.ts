import { MessageReader, readCgiOrHttpHead, tlsSettings } from '../../client/index.ts';
import { moduleFor } from '../../contract/index.ts';
import {
  addressExplanation,
  addressModule,
  compileForwarding,
  type Provisioned,
  provisionForwarding,
  stickyFilter,
  validateForwarding,
  validateTls,
} from '../../forwarding/index.ts';
import type { UwsgiConfig } from './config.ts';
import { directives } from './directives.ts';
import { compileUwsgi } from './uwsgi-protocol.ts';

/** nginx's uwsgi module: passes requests to a program behind uWSGI. */
export const uwsgi = moduleFor<UwsgiConfig>()<Provisioned>({
  name: 'uwsgi',
  summary: 'Forwards requests to uwsgi servers.',
  directives,
  ...addressModule<UwsgiConfig>('uwsgi'),
  validate(config, report) {
    validateForwarding('uwsgi', config, report);
    const { pass } = config;
    if (pass?.kind === 'variables' || pass?.scheme === 'suwsgi') validateTls('uwsgi', config, report);
  },
  enabled: ({ pass }) => pass !== undefined,
  provision: (config, worker) =>
    provisionForwarding(config, worker, {
      protocol: 'uwsgi',
      tls: tlsSettings(config),
      reader: () => new MessageReader(readCgiOrHttpHead),
    }),
  compile(config, provisioned, build) {
    const { pass } = config;
    if (!pass) return {};
    const protocol = compileUwsgi(pass, config, { provisioned, build });
    return {
      content: compileForwarding({ config, provisioned, protocol }, build),
      slashRedirect: true,
      ...stickyFilter(provisioned),
    };
  },
  explanation: addressExplanation('uwsgi', compileUwsgi),
});
