import { isPublic } from '../../exposure.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { servedStores } from './settings.ts';

export const kvEmbeddedMulti: Rule = {
  id: 'GW708',
  slug: 'kv-embedded-multi',
  severity: 'info',
  summary: 'the embedded store on a gateway that others reach',
  why: 'It lies on this machine alone: a second gateway beside it has a store of its own, and clients find now the one and now the other.',
  fix: 'Keep it where there is one gateway; for several, run Redis or Valkey.',
  bad: { in: 'http', text: 'server { listen 80; location = /hits { kv_pass embedded; kv_key hits; } }' },
  good: {
    in: 'http',
    text: 'server { listen 80; location = /hits { kv_pass 127.0.0.1:6379; kv_key hits; } }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const first = servedStores(config).find(
      ({ block, settings }) => settings.pass.kind === 'embedded' && isPublic(block),
    );
    if (first) yield { at: first.node, message: 'the embedded store is local to this machine' };
  },
};
