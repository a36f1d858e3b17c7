import type { DirectiveNode, TextEdit, Word } from '../../../../grammar/index.ts';
import { lineBehind, rewritten } from '../../edits.ts';
import type { CheckedConfig, Problem, Rule, Use } from '../../rule.ts';

export const deprecated: Rule = {
  id: 'GW116',
  slug: 'deprecated',
  severity: 'warning',
  summary: 'a form that nginx has given up for another',
  why: 'It still works here. New versions of nginx warn about it, and a later one will refuse it.',
  fix: 'Write the new form: "http2 on", "listen ... ssl", "listen ... default_server".',
  bad: { text: 'listen 127.0.0.1:8443 default;' },
  good: { text: 'listen 127.0.0.1:8443 default_server;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of config.blocks('server')) yield* http2Problems(block.own('listen'), block);
    for (const { node } of config.uses('listen')) {
      const word = node.args.find(({ value }, index) => index > 0 && value === 'default');
      if (word) yield defaultProblem(word);
    }
  },
};

/** One for all `listen` of a server: `http2 on` takes the place of all of them. */
function* http2Problems(listens: readonly DirectiveNode[], block: Use['block']): Iterable<Problem> {
  const found = listens.flatMap((node) => {
    const index = node.args.findIndex(({ value }, at) => at > 0 && value.toLowerCase() === 'http2');
    return index < 0 ? [] : [{ node, word: node.args[index] as Word, before: node.args[index - 1] as Word }];
  });
  const [first, ...others] = found;
  if (!first) return;
  const takenOut = found.map(({ word: { span }, before }): TextEdit => ({
    span: { ...span, start: before.span.end },
    text: '',
  }));
  const isSaid = block.effective('http2').length > 0;
  yield {
    at: first.word.span,
    message: '"listen ... http2" is deprecated, use "http2 on"',
    related: others.map(({ word: { span } }) => ({ span, label: 'here too' })),
    fix: {
      title: 'say "http2 on"',
      safe: true,
      edits: isSaid ? takenOut : [...takenOut, lineBehind((found.at(-1) ?? first).node, 'http2 on;')],
    },
  };
}

function defaultProblem(word: Word): Problem {
  return {
    at: word.span,
    message: '"listen ... default" is deprecated, use "default_server"',
    fix: { title: 'say "default_server"', safe: true, edits: [rewritten(word, 'default_server')] },
  };
}
