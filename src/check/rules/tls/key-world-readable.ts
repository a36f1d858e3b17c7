import type { DirectiveNode } from '../../../../grammar/index.ts';
import { worldReadableMode } from '../../file-modes.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { sslOf } from '../../tls-servers.ts';
import { SHOP } from './shop.ts';

export const keyWorldReadable: Rule = {
  id: 'GW510',
  slug: 'key-world-readable',
  severity: 'error',
  summary: 'the key of a certificate can be read by every user of the machine',
  why: 'Whoever has the key is the site: a program that should serve one page can take it away.',
  fix: 'chmod 600 (or 640 with a group of its own).',
  bad: {
    text: SHOP.text,
    files: { ...SHOP.files, 'shop.key': { keyOf: 'shop.crt', mode: 0o644 } },
  },
  good: SHOP,
  *check(config: CheckedConfig): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const block of config.blocks('http', 'server')) {
      const nodes = block.from('ssl').get('keys')?.nodes ?? [];
      for (const [index, { path, text }] of (sslOf(block).keys ?? []).entries()) {
        const node = nodes[index];
        if (!node || told.has(node)) continue;
        told.add(node);
        const mode = worldReadableMode(path);
        if (mode === undefined) continue;
        yield {
          at: node,
          message: `key "${text}" is readable by everybody (mode ${mode})`,
          hint: 'chmod 600',
        };
      }
    }
  },
};
