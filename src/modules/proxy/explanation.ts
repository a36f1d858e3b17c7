import type { ExplainedFact, ModuleExplanation } from '../../contract/index.ts';
import {
  type ExplainedLocation,
  explainForwarding,
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
        const { head } = (isForCache ? heads.cache : heads.client)(x, asked);
        return requestFacts(String(head));
      },
    };
    return { content: explainForwarding(location, build) };
  },
};

function requestFacts(head: string): readonly ExplainedFact[] {
  const [line = '', ...fields] = head.trimEnd().split('\r\n');
  return [
    { label: 'request', value: line },
    ...fields.map((field) => ({ label: 'header', value: withoutLogin(field) })),
  ];
}

/** Masks credentials in the headers of the request. */
function withoutLogin(field: string): string {
  return field.replace(/^((?:proxy-)?authorization|cookie):(?: (\w+) (?=\S))?.*$/i, (_all, name, scheme) =>
    scheme === undefined ? `${name}: ***` : `${name}: ${scheme} ***`,
  );
}
