import type { ModuleExplanation } from '../../contract/index.ts';
import {
  type ExplainedLocation,
  explainForwarding,
  explainHttpRequest,
  type Provisioned,
  unconnected,
  type Unconnected,
} from '../../forwarding/index.ts';
import type { ProxyConfig } from './config.ts';
import { compileHttp } from './http-protocol.ts';
import type { HttpTarget } from './target.ts';

/** Explains which request would be sent, and to which peer. */
export const explanation: ModuleExplanation<ProxyConfig, Provisioned> = {
  provision: (_config, scope) => unconnected(scope),
  explain(config, provisioned, build) {
    if (!config.pass) return {};
    const protocol = compileHttp(config.pass, config, { provisioned, build });
    const heads = { client: protocol.compileHead(false), cache: protocol.compileHead(true) };
    const location: ExplainedLocation<HttpTarget> = {
      config,
      provisioned: provisioned as Unconnected,
      protocol,
      prefix: 'proxy',
      tell(x, asked, isForCache) {
        return explainHttpRequest((isForCache ? heads.cache : heads.client)(x, asked));
      },
    };
    return { content: explainForwarding(location, build) };
  },
};
