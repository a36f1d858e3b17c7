import type { Fix } from '../../../../grammar/index.ts';
import type { Dropping } from '../../dropped-headers.ts';
import { droppedIn, headerOf, writtenText } from '../../dropped-headers.ts';
import { lineBefore } from '../../edits.ts';
import { namesText } from '../../names.ts';
import { blocksWith } from '../../blocks-with.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const headerRedefinition: Rule = {
  id: 'GW304',
  slug: 'header-redefinition',
  severity: 'warning',
  summary: '"add_header" on an inner level drops the headers of the level above',
  why: 'A level with "add_header" of its own inherits none: security headers that were set once for all are gone here, silently.',
  fix: 'Say "add_header_inherit merge;" on this level, or repeat the headers.',
  bad: {
    text: 'add_header X-Frame-Options DENY;\nlocation /files/ {\n    add_header Cache-Control no-cache;\n}',
  },
  good: {
    text: 'add_header X-Frame-Options DENY;\nlocation /files/ {\n    add_header_inherit merge;\n    add_header Cache-Control no-cache;\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of blocksWith(config, 'add_header')) {
      const dropping = droppedIn(block, 'add_header');
      // Who says how headers come down means it.
      if (!dropping || block.own('add_header_inherit').length > 0) continue;
      const { at, dropped } = dropping;
      yield {
        at,
        message: `"add_header" here drops ${namesText(dropped.map(headerOf))} of the level above`,
        label: 'from here on only the headers of this level count',
        related: dropped.map(({ span }) => ({ span, label: 'dropped' })),
        fix: fixOf(dropping),
      };
    }
  },
};

/** Merging keeps what both levels say: a header that is replaced here would come twice. */
function fixOf({ at, dropped, replaces }: Dropping): Fix {
  if (!replaces) {
    return {
      title: 'add "add_header_inherit merge": the answers get the dropped headers too',
      safe: false,
      edits: [lineBefore(at, 'add_header_inherit merge;')],
    };
  }
  return {
    title: 'repeat the dropped headers',
    safe: false,
    edits: dropped.map((node) => lineBefore(at, writtenText(node))),
  };
}
