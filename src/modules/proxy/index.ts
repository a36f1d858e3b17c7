import { constantText } from '../../config/index.ts';
import { type Build, type ConfigReport, moduleFor } from '../../contract/index.ts';
import { tlsSettings } from '../../client/index.ts';
import {
  compileForwarding,
  type Provisioned,
  provisionForwarding,
  stickyFilter,
  validateForwarding,
  validateTls,
} from '../../forwarding/index.ts';
import type { Exchange } from '../../http/index.ts';
import { mayCache } from '../../cache/index.ts';
import type { ProxyConfig } from './config.ts';
import { directives } from './directives/index.ts';
import { explanation } from './explanation.ts';
import { compileHttp } from './http-protocol.ts';
import { addressOf } from './target.ts';
import { variables } from './variables.ts';

/** Checks the buffer sizes against one another, and directives that need one another (nginx ngx_http_proxy_merge_loc_conf). */
function validate(config: ProxyConfig, report: ConfigReport<ProxyConfig>): void {
  validateForwarding('proxy', config, report);
  const { redirects = [], pass } = config;
  const at = redirects.indexOf('default');
  if (pass?.kind === 'variables' && at >= 0) {
    const message = '"proxy_redirect default" cannot be used with "proxy_pass" directive with variables';
    report.phrase('redirects', message, { index: at });
  }
  if (pass?.kind === 'variables' || pass?.scheme === 'https') validateTls('proxy', config, report);
}

/** `proxy_set_body` */
function compileBody({ setBody }: ProxyConfig, build: Build): ((x: Exchange) => Buffer) | undefined {
  const render = setBody && build.value(setBody);
  return render && ((x) => Buffer.from(render(x)));
}

/** nginx's proxy module: passes requests to an HTTP upstream and its responses to the client. */
export const proxy = moduleFor<ProxyConfig>()<Provisioned>({
  name: 'proxy',
  summary: 'Forwards requests to HTTP servers.',
  directives,
  variables,
  content: 'pass',
  enabled: ({ pass }) => pass !== undefined,
  validate,
  upstreams: ({ pass }) => (pass?.kind === 'literal' ? [{ ...addressOf(pass), field: 'pass' }] : []),
  uses(config) {
    const name = mayCache(config) ? constantText(config.cache) : undefined;
    return name === undefined ? [] : [{ kind: 'cache', name, field: 'cache' }];
  },
  provision: (config, worker) =>
    provisionForwarding(config, worker, {
      protocol: config.httpVersion === '2' ? 'h2' : 'http',
      isHttp2: config.httpVersion === '2',
      tls: config.pass ? tlsSettings(config) : undefined,
    }),
  compile(config, provisioned, build) {
    if (!config.pass) return {};
    const body = compileBody(config, build);
    return {
      content: compileForwarding(
        {
          config,
          provisioned,
          protocol: compileHttp(config.pass, config, { provisioned, build }),
          ...(body && { body }),
        },
        build,
      ),
      slashRedirect: true,
      ...stickyFilter(provisioned),
    };
  },
  explanation,
  rules: () => import('./rules/index.ts'),
});
