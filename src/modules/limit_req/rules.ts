import type { ModuleRule, Problem } from '../../contract/index.ts';
import type { LimitReqConfig } from './directives.ts';

const KEY_FILE = { 'cluster.key': 'tR7uWx2LqPz9Vb4N' };

/** An example: a cluster, and a limit with more parameters of its zone. */
const limitWith = (
  more: string,
): string => `cluster main { backend redis://127.0.0.1:6379; secret \${file:cluster.key}; }
limit_req_zone $binary_remote_addr zone=perip:10m rate=10r/s${more};
server {
  listen 127.0.0.1:8080;
  location / { limit_req zone=perip; proxy_pass http://127.0.0.1:9000; }
}`;

const SHARED = /^(?:sync(?:=exact)?$|cluster=)/;

const limitAlone: ModuleRule<LimitReqConfig> = {
  id: 'GW958',
  slug: 'limit-alone',
  severity: 'info',
  summary: 'a rate limit that the gateways of a cluster do not share',
  why: 'Each gateway counts separately: with three gateways, a client gets three times the rate.',
  fix: 'Name the cluster: "limit_req_zone … cluster=main;". If the limit is meant for each gateway, ignore the finding: "# gw-ignore GW958: reason".',
  bad: { in: 'http', text: limitWith(''), files: KEY_FILE },
  good: { in: 'http', text: limitWith(' cluster=main'), files: KEY_FILE },
  *check(config): Iterable<Problem> {
    const [cluster] = config.uses('cluster').flatMap(({ node }) => node.args[0]?.value ?? []);
    if (cluster === undefined) return;
    const used = new Set(config.uses('limit_req').flatMap(({ node }) => node.args.flatMap(zoneOf)));
    for (const { node } of config.uses('limit_req_zone')) {
      const [zone] = node.args.flatMap(zoneOf);
      if (zone === undefined || !used.has(zone) || node.args.some(({ value }) => SHARED.test(value)))
        continue;
      yield {
        at: node,
        message: `each gateway counts zone "${zone}" separately`,
        hint: `add "cluster=${cluster}": the rate then applies to all gateways together`,
      };
    }
    for (const { node } of config.uses('quota_zone')) {
      if (node.args.some(({ value }) => SHARED.test(value))) continue;
      yield {
        at: node,
        message: `each gateway counts quota "${node.args.flatMap(zoneOf).join('')}" separately`,
        hint: `add "cluster=${cluster}": the quota is then that of all gateways together`,
      };
    }
    for (const { node } of config.uses('ratelimit_rate'))
      yield {
        at: node,
        message: 'each gateway counts "ratelimit_rate" separately',
        hint: `"limit_req" with a zone of "cluster=${cluster}" counts for all gateways together`,
      };
  },
};

/** Returns the name in `zone=name:size`. */
function zoneOf({ value }: { readonly value: string }): readonly string[] {
  const [, name] = /^zone=([^:]+)/.exec(value) ?? [];
  return name === undefined ? [] : [name];
}

/** The rules about the limit_req module. */
export const rules: readonly ModuleRule<LimitReqConfig>[] = [limitAlone];
