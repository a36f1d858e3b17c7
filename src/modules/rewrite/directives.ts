import { partOfWord, type Word } from '../../../grammar/index.ts';
import {
  type ArgReader,
  AT,
  defines,
  directivesFor,
  readers,
  readRegex,
  type ReadScope,
} from '../../config/index.ts';
import type {
  BreakStep,
  Condition,
  FileTest,
  IfStep,
  RedirectStep,
  ReturnStep,
  RewriteConfig,
  RewriteStep,
  SetStep,
} from '../../contract/index.ts';

/** A replacement, or the only argument of `return`, that is a redirect. */
const URL = /^(https?:\/\/|\$scheme)/;
const HIGHEST_CODE = 999;

/** `return` (nginx ngx_http_rewrite_module#return). */
const returnStep: ArgReader<ReturnStep> = readers.words(
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
const setStep: ArgReader<SetStep> = readers.words(
  { syntax: '$variable value', min: 2, max: 2 },
  (words, scope) => {
    const [name, value] = words as [Word, Word];
    const variable = readers.readVariableName(name, scope, 'assigned');
    return variable === undefined ? undefined : { kind: 'set', variable, value: scope.complexValue(value) };
  },
);

/** `break` (nginx ngx_http_rewrite_module#break). */
const breakStep: ArgReader<BreakStep> = { ...readers.present, read: () => ({ kind: 'break' }) };

const FLAGS = ['last', 'break', 'redirect', 'permanent'] as const;
type Flag = (typeof FLAGS)[number] | 'none';

/** `rewrite` (nginx ngx_http_rewrite_module#rewrite). */
const rewriteStep: ArgReader<RewriteStep | RedirectStep> = readers.words(
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
    // A "?" at the end drops the arguments of the request.
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
  if (!flag) report.emerg(`invalid parameter "${word.value}"`, word.span, readers.expectedNames(word, FLAGS));
  return flag;
}

/** Splits a replacement at its first "?" into path and arguments. */
function readTarget(word: Word, scope: ReadScope): Pick<RewriteStep, 'path' | 'args'> {
  const mark = word.value.indexOf('?');
  if (mark < 0) return { path: scope.complexValue(word) };
  return {
    path: scope.complexValue(partOfWord(word, 0, mark)),
    args: scope.complexValue(partOfWord(word, mark + 1)),
  };
}

/** `if` (nginx ngx_http_rewrite_module#if). */
const ifStep: ArgReader<IfStep> = readers.words(
  { syntax: '(condition)', min: 1, max: Infinity },
  (words, scope) => {
    const condition = readCondition(words, scope);
    return condition && { kind: 'if', nth: scope.nth, condition };
  },
);

/** Reads the condition between the parentheses, which may be separate words. */
function readCondition(words: readonly Word[], scope: ReadScope): Condition | undefined {
  const first = words[0] as Word;
  if (!first.value.startsWith('(')) return invalid(first, scope);
  const opened = first.value === '(' ? words.slice(1) : [partOfWord(first, 1), ...words.slice(1)];
  const last = opened.at(-1) ?? first;
  if (!last.value.endsWith(')')) return invalid(last, scope);
  const before = opened.slice(0, -1);
  const inside = last.value === ')' ? before : [...before, partOfWord(last, 0, last.value.length - 1)];
  const [subject] = inside;
  if (!subject) return invalid(last, scope);
  if (subject.value.length > 1 && subject.value.startsWith('$')) return readComparison(inside, scope);
  return readFileTest(inside, scope);
}

function invalid({ value, span }: Word, { report }: ReadScope): undefined {
  report.emerg(`invalid condition "${value}"`, span);
}

function readComparison(words: readonly Word[], scope: ReadScope): Condition | undefined {
  const [subject, operator, operand, ...more] = words as [Word, Word?, Word?, ...Word[]];
  if ((operator && !operand) || more.length > 0) return invalid(subject, scope);
  const variable = readVariable(subject, scope);
  if (variable === undefined) return undefined;
  if (!operator || !operand) return { test: 'true', variable };
  const negated = operator.value.startsWith('!');
  switch (operator.value) {
    case '=':
    case '!=':
      return { test: 'equal', variable, negated, value: scope.complexValue(operand) };
    case '~':
    case '~*':
    case '!~':
    case '!~*': {
      const caseless = operator.value.endsWith('*');
      const regex = readRegex(operand, { skip: 0, caseless }, scope);
      return regex && { test: 'match', variable, negated, regex };
    }
    default:
      scope.report.emerg(
        `unexpected "${operator.value}" in condition`,
        operator.span,
        'expected =, !=, ~, ~*, !~ or !~*',
      );
      return undefined;
  }
}

/** Returns the name in `$name`; the word must be a variable alone, not a capture. */
function readVariable(word: Word, scope: ReadScope): string | undefined {
  const [part, ...more] = scope.complexValue(word).parts;
  if (typeof part === 'object' && 'variable' in part && more.length === 0) return part.variable;
  scope.report.emerg(`unknown "${word.value.slice(1)}" variable`, word.span, {
    rule: 'unknown-variable',
    hint: 'expected one variable',
  });
  return undefined;
}

function readFileTest(words: readonly Word[], scope: ReadScope): Condition | undefined {
  const [operator, path, ...more] = words as [Word, Word?, ...Word[]];
  const [, mark, test] = /^(!?)-([fdex])$/.exec(operator.value) ?? [];
  if (test === undefined || !path || more.length > 0) return invalid(operator, scope);
  return { test: test as FileTest, negated: mark === '!', value: scope.complexValue(path) };
}

const ANYWHERE = ['server', 'location', 'server if', 'location if'] as const;

/** Common properties of all steps: they run in file order, and nested blocks do not inherit them. */
const STEP = { contexts: ANYWHERE, into: 'steps', repeat: 'append', inherit: false } as const;

/** nginx's rewrite module. */
export const directives = directivesFor<RewriteConfig>()({
  return: {
    ...STEP,
    args: returnStep,
    summary: 'Stops processing and sends a status, a text or a redirect; 444 closes the connection.',
    source: 'nginx ngx_http_rewrite_module#return',
  },
  rewrite: {
    ...STEP,
    args: rewriteStep,
    summary: 'Replaces the URI if it matches a regular expression, or redirects.',
    source: 'nginx ngx_http_rewrite_module#rewrite',
  },
  set: {
    ...STEP,
    args: setStep,
    secret: 'named',
    summary: 'Sets a variable for this request.',
    roles: defines('variable', AT.variable),
    source: 'nginx ngx_http_rewrite_module#set',
  },
  break: {
    ...STEP,
    args: breakStep,
    summary: 'Stops processing the rewrite directives of this block; the request stays in its location.',
    source: 'nginx ngx_http_rewrite_module#break',
  },
  if: {
    ...STEP,
    contexts: ['server'],
    args: ifStep,
    opens: 'server if',
    summary:
      'Runs the enclosed rewrite directives if the condition is true: a variable that is neither empty nor 0, a comparison, a file test.',
    source: 'nginx ngx_http_rewrite_module#if',
  },
  'if (location)': {
    ...STEP,
    contexts: ['location'],
    args: ifStep,
    opens: 'location if',
    summary:
      'In a location, the last one whose condition is true also replaces the configuration of the location.',
    source: 'nginx ngx_http_rewrite_module#if',
  },
  rewrite_log: {
    contexts: ['http', ...ANYWHERE],
    args: readers.flag,
    into: 'log',
    default: false,
    summary: 'Logs matches and rewrites in the error log at level notice.',
    source: 'nginx ngx_http_rewrite_module#rewrite_log',
  },
});
