import type { DirectiveNode, Word } from '../../../grammar/index.ts';
import { readRegex, type ReadScope } from '../../config/index.ts';
import { type MatchBlock, type MatchRule, responseVariable, type StatusRange } from '../../health/index.ts';

/** Reads the block `match name { ... }` (NGINX Plus, ngx_http_upstream_hc_module#match). */
export function readMatch({ args, block = [] }: DirectiveNode, scope: ReadScope): MatchBlock | undefined {
  const [name] = args as [Word];
  if (name.value === '') {
    scope.report.emerg('invalid match name ""', name.span);
    return undefined;
  }
  return { name: name.value, rules: block.flatMap((line) => readRule(line, scope) ?? []) };
}

function readRule({ name, args, block }: DirectiveNode, scope: ReadScope): MatchRule | undefined {
  if (block) {
    scope.report.emerg('unexpected "{"', name.span, { rule: 'unexpected-token' });
    return undefined;
  }
  const read = READERS[name.value];
  if (!read) {
    const hint = `expected ${Object.keys(READERS).join(', ')}`;
    scope.report.emerg(`unknown condition "${name.value}"`, name.span, { rule: 'unknown-directive', hint });
    return undefined;
  }
  if (args.length === 0) {
    scope.report.emerg(`condition "${name.value}" has no value`, name.span, { rule: 'wrong-arity' });
    return undefined;
  }
  return read(args, scope);
}

type RuleReader = (words: readonly Word[], scope: ReadScope) => MatchRule | undefined;

const READERS: Readonly<Record<string, RuleReader>> = {
  status: readStatus,
  header: readHeader,
  body: readBody,
  require: readRequire,
};

/** `status [!] 200 301-303 …`. */
function readStatus(words: readonly Word[], scope: ReadScope): MatchRule | undefined {
  const not = words[0]?.value === '!';
  const codes = not ? words.slice(1) : words;
  const ranges = codes.map((word) => readRange(word, scope));
  if (codes.length === 0) return refuse(words[0] as Word, 'condition "status" has no value', scope);
  if (ranges.includes(undefined)) return undefined;
  return { kind: 'status', not, ranges: ranges as StatusRange[] };
}

function readRange(word: Word, scope: ReadScope): StatusRange | undefined {
  const [, from = '', to = from] = /^(\d{3})(?:-(\d{3}))?$/.exec(word.value) ?? [];
  const range = [Number(from), Number(to)] as const;
  if (from !== '' && range[0] >= 100 && range[1] <= 599 && range[0] <= range[1]) return range;
  return refuse(word, `invalid status "${word.value}"`, scope);
}

/** Operators; `~*` and `!~*` ignore case. */
const OPERATORS: ReadonlySet<string> = new Set(['=', '!=', '~', '!~', '~*', '!~*']);

/** `header name`, `header ! name`, `header name =|!=|~|!~ value`. */
function readHeader(words: readonly Word[], scope: ReadScope): MatchRule | undefined {
  const [first, second, third] = words as [Word, Word?, Word?];
  if (words.length === 1) return { kind: 'has header', not: false, name: first.value };
  if (first.value === '!' && second && words.length === 2)
    return { kind: 'has header', not: true, name: second.value };
  if (!second || !third || words.length > 3 || !OPERATORS.has(second.value))
    return refuse(
      second ?? first,
      'expected "header name", or a name, "=", "!=", "~" or "!~", and a value',
      scope,
    );
  const not = second.value.startsWith('!');
  const { value: name } = first;
  if (second.value.endsWith('=')) return { kind: 'header is', not, name, value: third.value };
  const regex = readRegex(third, { skip: 0, caseless: second.value.endsWith('*') }, scope);
  return regex && { kind: 'header like', not, name, regex };
}

/** `body ~|!~ regex`. */
function readBody(words: readonly Word[], scope: ReadScope): MatchRule | undefined {
  const [operator, pattern] = words as [Word, Word?];
  if (!pattern || words.length > 2 || !['~', '!~', '~*', '!~*'].includes(operator.value))
    return refuse(operator, 'expected "body ~ regex" or "body !~ regex"', scope);
  const regex = readRegex(pattern, { skip: 0, caseless: operator.value.endsWith('*') }, scope);
  return regex && { kind: 'body like', not: operator.value.startsWith('!'), regex };
}

/** `require $variable …`. */
function readRequire(words: readonly Word[], scope: ReadScope): MatchRule | undefined {
  const variables: string[] = [];
  for (const word of words) {
    const name = /^\$(\w+)$/.exec(word.value)?.[1]?.toLowerCase();
    if (name === undefined) return refuse(word, `invalid variable name "${word.value}"`, scope);
    if (!responseVariable(name)) {
      const hint =
        'expected $upstream_status, $upstream_response_time, $upstream_response_length or $upstream_http_NAME';
      scope.report.emerg(`variable "$${name}" has no value in a probe`, word.span, { hint });
      return undefined;
    }
    variables.push(name);
  }
  return { kind: 'require', variables };
}

function refuse(word: Word, message: string, { report }: ReadScope): undefined {
  report.emerg(message, word.span);
  return undefined;
}
