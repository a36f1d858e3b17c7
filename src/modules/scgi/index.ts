import { MessageReader, readCgiOrHttpHead } from '../../client/index.ts';
import { moduleFor } from '../../contract/index.ts';
import {
  addressExplanation,
  addressModule,
  compileForwarding,
  type Provisioned,
  provisionForwarding,
  stickyFilter,
} from '../../forwarding/index.ts';
import type { ScgiConfig } from './config.ts';
import { directives } from './directives.ts';
import { compileScgi } from './scgi-protocol.ts';

/** nginx's SCGI module: passes requests to an SCGI server. */
export const scgi = moduleFor<ScgiConfig>()<Provisioned>({
  name: 'scgi',
  summary: 'Forwards requests to SCGI servers.',
  directives,
  ...addressModule<ScgiConfig>('scgi'),
  enabled: ({ pass }) => pass !== undefined,
  provision: (config, worker) =>
    provisionForwarding(config, worker, {
      protocol: 'scgi',
      reader: () => new MessageReader(readCgiOrHttpHead),
    }),
  compile(config, provisioned, build) {
    const { pass } = config;
    if (!pass) return {};
    const protocol = compileScgi(pass, config, { provisioned, build });
    return {
      content: compileForwarding({ config, provisioned, protocol }, build),
      slashRedirect: true,
      ...stickyFilter(provisioned),
    };
  },
  explanation: addressExplanation('scgi', compileScgi),
});
