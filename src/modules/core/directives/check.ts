import { directivesFor, readers } from '../../../config/index.ts';
import type { CoreConfig } from '../../../contract/index.ts';

const { flag, oneOf, present, texts, words } = readers;

/** Directives about the rules of `gw check`. */
export const checking = directivesFor<CoreConfig>()({
  check: {
    contexts: ['main'],
    args: { ...present, syntax: '' },
    opens: 'check',
    summary:
      'Which rules of `gw check` apply to this configuration, and what a start does with their findings.',
    source: 'gw',
  },
  ignore: {
    contexts: ['check'],
    args: words({ syntax: 'rule ... "reason"', min: 2, max: Infinity }, (list) =>
      list.map(({ value }) => value),
    ),
    into: 'checkIgnore',
    repeat: 'append',
    summary:
      'Accepts the findings of these rules; a rule is an id, a slug or the beginning of an id. The last word gives the reason.',
    source: 'gw',
  },
  select: {
    contexts: ['check'],
    args: texts,
    into: 'checkSelect',
    defaultText: 'all that are on by default',
    summary: 'Applies these rules only.',
    source: 'gw',
  },
  refuse: {
    contexts: ['check'],
    args: oneOf('never', 'error', 'warning'),
    into: 'checkRefuse',
    defaultText: 'never',
    summary:
      'The severity from which on a finding prevents a start, a reload and a successful `-t`; without it, findings are only logged.',
    source: 'gw',
  },
  log: {
    contexts: ['check'],
    args: flag,
    into: 'checkLog',
    defaultText: 'on',
    summary: 'Whether a start and a reload log findings in the error log, at the level warn.',
    source: 'gw',
  },
});
