import type { Build, ModuleDefinition, VariableDefinition } from '../../contract/index.ts';
import { upstreamFacts, type UpstreamFacts } from '../../forwarding/index.ts';
import type { Getter } from '../../http/index.ts';
import type { ProxyConfig } from './config.ts';

type Variables = NonNullable<ModuleDefinition<ProxyConfig>['variables']>;

const ofFacts = (summary: string, read: (facts: UpstreamFacts) => string): VariableDefinition => ({
  summary,
  compile: () => (x) => {
    const facts = upstreamFacts(x);
    return facts && facts.internalRedirects === x.internalRedirects ? read(facts) || undefined : undefined;
  },
});

/** `$proxy_add_x_forwarded_for`: the client's `X-Forwarded-For` with its address appended. */
function compileForwardedFor(build: Build): Getter {
  build.needHeader('x-forwarded-for');
  build.needPeer();
  return (x) => {
    const before = x.header('x-forwarded-for');
    return before === undefined ? x.remoteAddress : `${before}, ${x.remoteAddress}`;
  };
}

/** nginx's variables of the proxy module. */
export const variables: Variables = {
  proxy_host: ofFacts(
    'Name and port of the upstream as written in `proxy_pass`.',
    ({ proxyHost }) => proxyHost,
  ),
  proxy_port: ofFacts(
    'Port of the upstream, or the default port of its protocol.',
    ({ proxyPort }) => proxyPort,
  ),
  proxy_add_x_forwarded_for: {
    summary: "The request's `X-Forwarded-For` with the client's address appended.",
    compile: compileForwardedFor,
  },
};
