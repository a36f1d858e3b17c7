import type { Word } from '../../../../grammar/index.ts';
import { rewritten } from '../../edits.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const headerMultiline: Rule = {
  id: 'GW305',
  slug: 'header-multiline',
  severity: 'error',
  summary: 'the value of a header goes over several lines',
  why: 'Headers that go on in a second line are obsolete (RFC 9112, 5.2): nginx sends the line break as it is, and clients and proxies refuse the answer, or take the rest for a header of its own.',
  fix: 'Write the value in one line; a long one may be put together with "set" or "map".',
  bad: { text: 'add_header Content-Security-Policy "default-src \'self\';\n    img-src *";' },
  good: { text: 'add_header Content-Security-Policy "default-src \'self\'; img-src *";' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('add_header', 'add_trailer', 'proxy_set_header')) {
      const [name, value] = node.args;
      if (!name || !value || !/[\r\n]/.test(value.value)) continue;
      yield {
        at: value.span,
        message: `the value of header "${name.value}" holds a line break`,
        ...(!value.secret && { fix: fixOf(value) }),
      };
    }
  },
};

function fixOf(word: Word): Problem['fix'] {
  const edit = rewritten(word, word.value.replaceAll(/[ \t]*(?:\r?\n|\r)[ \t]*/g, ' '));
  return { title: 'join the lines', safe: false, edits: [edit] };
}
