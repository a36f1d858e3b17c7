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
      'Which rules of `gw check` count for this configuration, and what a start does when they find something.',
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
      'Lives with what these rules find; a rule is an id, a slug or the beginning of an id. The last word says why.',
    source: 'gw',
  },
  select: {
    contexts: ['check'],
    args: texts,
    into: 'checkSelect',
    defaultText: 'all that are on by default',
    summary: 'Asks only these rules.',
    source: 'gw',
  },
  refuse: {
    contexts: ['check'],
    args: oneOf('never', 'error', 'warning'),
    into: 'checkRefuse',
    defaultText: 'never',
    summary:
      'From which severity on a finding keeps the gateway from starting, reloading and passing `-t`; without it findings go to the error log once the gateway serves.',
    source: 'gw',
  },
  log: {
    contexts: ['check'],
    args: flag,
    into: 'checkLog',
    defaultText: 'on',
    summary: 'Whether a start and a reload write what the rules find to the error log, at the level warn.',
    source: 'gw',
  },
});
