import type { ModuleRule, Problem } from '../../contract/index.ts';
import type { DynamicUpstreamsConfig } from './directives.ts';

const GROUP = 'upstream app { server 127.0.0.1:8001; dynamic_upstreams_managed; }';

const upstreamApiOpen: ModuleRule<DynamicUpstreamsConfig> = {
  id: 'GW806',
  slug: 'upstream-api-open',
  severity: 'error',
  summary: 'peers that everybody may change',
  why: 'Anybody who finds the address can send the requests of your clients, with their cookies, to a server of their own.',
  fix: 'Listen on a loopback address, or let in only whom you know.',
  bad: {
    in: 'http',
    text: `${GROUP}
server {
  listen 80;
  location = /upstreams/app { dynamic_upstreams_api; dynamic_upstreams_target app; }
}`,
  },
  good: {
    in: 'http',
    text: `${GROUP}
server {
  listen 80;
  location = /upstreams/app {
    dynamic_upstreams_api;
    dynamic_upstreams_target app;
    allow 10.0.0.0/8;
    deny all;
  }
}`,
  },
  *check(config): Iterable<Problem> {
    for (const { node } of config.exposed('upstream-api-open')) {
      yield {
        at: node,
        message: '"dynamic_upstreams_api" lets everybody change the peers',
        hint: 'add allow and deny, auth_basic or another check of who may call it',
      };
    }
  },
};

/** The rules about groups that change while they serve. */
export const rules: readonly ModuleRule<DynamicUpstreamsConfig>[] = [upstreamApiOpen];
