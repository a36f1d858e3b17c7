import { partOfWord } from '../../../grammar/index.ts';
import type { Word } from '../../../grammar/index.ts';
import { readers, readRegex } from '../../config/index.ts';
import type { ArgReader, ReadScope } from '../../config/index.ts';
import type { Condition, FileTest, IfStep } from './config.ts';

/** `if` (nginx ngx_http_rewrite_module#if). */
export const ifStep: ArgReader<IfStep> = readers.words(
  { syntax: '(condition)', min: 1, max: Infinity },
  (words, scope) => {
    const condition = readCondition(words, scope);
    return condition && { kind: 'if', nth: scope.nth, condition };
  },
);

/** What stands between the brackets, which may touch it or stand alone. */
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

/** The name in `$name`: a variable alone, no text beside it and no capture. */
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
