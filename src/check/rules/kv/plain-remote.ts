import { hostOf, isLocal } from '../../addresses.ts';
import { upstreamNamed } from '../../proxying.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import type { KvPass } from './settings.ts';
import { servedStores } from './settings.ts';

export const kvPlainRemote: Rule = {
  id: 'GW705',
  slug: 'kv-plain-remote',
  severity: 'warning',
  summary: 'a store on another machine without TLS or without a password',
  why: 'Keys, values and the password can be read on the way; a store without a password serves whoever reaches it.',
  fix: 'Name it by an URL with both: rediss://:${file:/run/secrets/redis}@host:6379.',
  bad: { text: 'location = /hits { kv_pass 10.1.2.3:6379; kv_key hits; }' },
  good: {
    text: 'location = /hits { kv_pass "rediss://:${file:redis.password}@10.1.2.3:6379"; kv_key hits; }',
    files: { 'redis.password': '8hYqPz3vTn' },
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, settings } of servedStores(config)) {
      const { pass } = settings;
      if ((pass.kind !== 'inet' && pass.kind !== 'name') || isHere(pass, config)) continue;
      const missing = [pass.tls ? [] : 'TLS', pass.password === undefined ? 'a password' : []].flat();
      if (missing.length === 0) continue;
      yield {
        at: node,
        message: `"kv_pass" reaches another machine without ${missing.join(' and without ')}`,
        hint: 'use an URL: rediss://:password@host:port',
      };
    }
  },
};

/** A name is an upstream's, or a host. */
function isHere(pass: Extract<KvPass, { kind: 'inet' | 'name' }>, config: CheckedConfig): boolean {
  if (pass.kind === 'inet') return isLocal(pass.host);
  const group = upstreamNamed(config, pass.name);
  const servers = group?.own('server').map(({ args }) => args[0]?.value ?? '') ?? [pass.name];
  return servers.every((server) => isLocal(hostOf(server)));
}
