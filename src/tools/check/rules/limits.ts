import {
  type CheckedConfig,
  configOf,
  matchOf,
  type Problem,
  type Rule,
  targetOf,
} from '../../../contract/index.ts';

/** Variables that clients control and that are mistaken for addresses. */
const FORGEABLE =
  /\$\{?(http_(?:x_forwarded_for|x_real_ip|x_client_ip|x_cluster_client_ip|forwarded|client_ip|true_client_ip|cf_connecting_ip|user_agent)|proxy_add_x_forwarded_for)\b/i;

const limitKeyForgeable: Rule = {
  id: 'GW323',
  slug: 'limit-key-forgeable',
  severity: 'warning',
  summary: 'the key of a limit is a header that clients can choose',
  why: 'A client that sends another value with each request gets another key each time, so the limit never applies.',
  fix: 'Use "$binary_remote_addr" as the key. Behind a proxy, "set_real_ip_from" and "real_ip_header" give it the address of the client.',
  bad: { in: 'http', text: 'limit_req_zone $http_x_forwarded_for zone=calls:1m rate=10r/s;' },
  good: { in: 'http', text: 'limit_req_zone $binary_remote_addr zone=calls:1m rate=10r/s;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('limit_req_zone', 'limit_conn_zone')) {
      const [key] = node.args;
      const variable = FORGEABLE.exec(key?.value ?? '')?.[1];
      if (!key || variable === undefined) continue;
      yield {
        at: key.span,
        message: `"$${variable}" in the key of "${node.name.value}" can be chosen by the client`,
        hint: 'use "$binary_remote_addr"',
      };
    }
  },
};

const bodySizeUnset: Rule = {
  id: 'GW324',
  slug: 'body-size-unset',
  severity: 'info',
  summary: 'uploads are limited to one megabyte, the default',
  why: 'Larger bodies are refused with 413 before the upstream sees them.',
  fix: 'Set "client_max_body_size" to the largest upload.',
  bad: { text: 'location /upload/ {\n    proxy_pass http://127.0.0.1:9000;\n}' },
  good: {
    text: 'location /upload/ {\n    client_max_body_size 50m;\n    proxy_pass http://127.0.0.1:9000;\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of config.blocks('location')) {
      const match = matchOf(block);
      if (!match || !('path' in match) || !/upload(?!ed)s?\b/i.test(match.path)) continue;
      if (!targetOf(block) || block.effective('client_max_body_size').length > 0) continue;
      const at = block.node?.args.at(-1)?.span;
      if (at)
        yield {
          at,
          message: `uploads to "${match.path}" are limited to 1m, the default of "client_max_body_size"`,
        };
    }
  },
};

/** Matches `cluster=`, or `sync` for the only cluster. */
const SHARED = /^(?:cluster=([^:]+).*|sync(?:=exact)?)$/;

/** Returns the example of a limit that the gateways of a cluster share. */
const sharedLimit = (backend: string): string =>
  `cluster main { backend ${backend}; secret \${file:cluster.key}; }
limit_req_zone $binary_remote_addr zone=perip:10m rate=10r/s cluster=main;`;
const CLUSTER_KEY = { 'cluster.key': 'tR7uWx2LqPz9Vb4N' };

const limitUnshared: Rule = {
  id: 'GW964',
  slug: 'limit-unshared',
  severity: 'warning',
  summary: 'a shared limit in a cluster whose store is PostgreSQL',
  why: 'Rates and quotas are not shared through PostgreSQL, because each request would write a row. The "fallback" of "limits" applies to every request: with "local", each gateway allows the whole rate.',
  fix: 'Share limits through Redis or Valkey, if necessary in a separate cluster. Or remove "cluster=".',
  bad: { in: 'http', text: sharedLimit('postgres://gw_cluster@127.0.0.1/gw'), files: CLUSTER_KEY },
  good: { in: 'http', text: sharedLimit('redis://127.0.0.1:6379'), files: CLUSTER_KEY },
  *check(config: CheckedConfig): Iterable<Problem> {
    const unable = config
      .blocks('cluster')
      .filter((block) => configOf(block.level, 'cluster').backend?.kind === 'postgres');
    const told = new Set<unknown>();
    for (const { node } of config.uses('limit_req_zone', 'quota_zone')) {
      for (const word of node.args.slice(1)) {
        const [isShared, name] = SHARED.exec(word.value) ?? [];
        const cluster = isShared && unable.find(({ args }) => name === undefined || args === name);
        if (!cluster || told.has(cluster)) continue;
        told.add(cluster);
        yield {
          at: word.span,
          message: `cluster "${String(cluster.args)}" shares no limits: its store is PostgreSQL`,
          hint: 'the "fallback" of "limits" applies to every request',
        };
      }
    }
  },
};

/** The rules about limits. */
export const LIMIT_RULES: readonly Rule[] = [limitKeyForgeable, bodySizeUnset, limitUnshared];
