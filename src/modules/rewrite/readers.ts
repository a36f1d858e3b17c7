import { partOfWord } from '../../../grammar/index.ts';
import type { Word } from '../../../grammar/index.ts';
import { readers, readRegex } from '../../config/index.ts';
import type { ArgReader, ReadScope } from '../../config/index.ts';
import type { BreakStep, RedirectStep, ReturnStep, RewriteStep, SetStep } from './config.ts';

/** What makes a replacement or the only word of `return` a URL: a redirect. */
const URL = /^(https?:\/\/|\$scheme)/;
const HIGHEST_CODE = 999;

/** `return` (nginx ngx_http_rewrite_module#return). */
export const returnStep: ArgReader<ReturnStep> = readers.words(
  { syntax: 'code [text] | code URL | URL', min: 1, max: 2 },
  (words, scope) => {
    const [first, second] = words as [Word, Word?];
    if (!second && URL.test(first.value))
      return { kind: 'return', code: 302, text: scope.complexValue(first) };
    const code = Number(first.value);
    if (!/^\d+$/.test(first.value) || code > HIGHEST_CODE) {
      scope.report.emerg(`invalid return code "${first.value}"`, first.span);
      return undefined;
    }
    return second ? { kind: 'return', code, text: scope.complexValue(second) } : { kind: 'return', code };
  },
);

/** `set` (nginx ngx_http_rewrite_module#set). */
export const setStep: ArgReader<SetStep> = readers.words(
  { syntax: '$variable value', min: 2, max: 2 },
  (words, scope) => {
    const [name, value] = words as [Word, Word];
    const variable = readers.readVariableName(name, scope, 'assigned');
    return variable === undefined ? undefined : { kind: 'set', variable, value: scope.complexValue(value) };
  },
);

/** `break` (nginx ngx_http_rewrite_module#break). */
export const breakStep: ArgReader<BreakStep> = { ...readers.present, read: () => ({ kind: 'break' }) };

const FLAGS = ['last', 'break', 'redirect', 'permanent'] as const;
type Flag = (typeof FLAGS)[number] | 'none';

/** `rewrite` (nginx ngx_http_rewrite_module#rewrite). */
export const rewriteStep: ArgReader<RewriteStep | RedirectStep> = readers.words(
  { syntax: 'regex replacement [last | break | redirect | permanent]', min: 2, max: 3 },
  (words, scope) => {
    const [pattern, replacement, flagWord] = words as [Word, Word, Word?];
    if (replacement.value === '') {
      scope.report.emerg('empty replacement', replacement.span);
      return undefined;
    }
    const regex = readRegex(pattern, { skip: 0, caseless: false }, scope);
    const flag = flagWord ? readFlag(flagWord, scope) : 'none';
    if (!regex || !flag) return undefined;
    // The last "?" keeps the arguments of the request away.
    const keepsArgs = !replacement.value.endsWith('?');
    const target = keepsArgs ? replacement : partOfWord(replacement, 0, replacement.value.length - 1);
    if (flag !== 'redirect' && flag !== 'permanent' && !URL.test(replacement.value))
      return { kind: 'rewrite', regex, keepsArgs, flag, ...readTarget(target, scope) };
    const code = flag === 'permanent' ? 301 : 302;
    const hasArgs = target.value.includes('?');
    return { kind: 'redirect', regex, code, target: scope.complexValue(target), hasArgs, keepsArgs };
  },
);

function readFlag(word: Word, { report }: ReadScope): Flag | undefined {
  const flag = FLAGS.find((name) => name === word.value);
  if (!flag) report.emerg(`invalid parameter "${word.value}"`, word.span, readers.expectedOf(word, FLAGS));
  return flag;
}

/** The first "?" parts path and arguments. */
function readTarget(word: Word, scope: ReadScope): Pick<RewriteStep, 'path' | 'args'> {
  const mark = word.value.indexOf('?');
  if (mark < 0) return { path: scope.complexValue(word) };
  return {
    path: scope.complexValue(partOfWord(word, 0, mark)),
    args: scope.complexValue(partOfWord(word, mark + 1)),
  };
}
