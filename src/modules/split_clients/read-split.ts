import type { DirectiveNode, Word } from '../../../grammar/index.ts';
import { readers } from '../../config/index.ts';
import type { ReadScope } from '../../config/index.ts';
import type { Part, SplitConfig } from './config.ts';

/** All clients, in hundredths of a percent. */
const ALL = 10_000;

const PERCENT = /^(\d*)(?:\.(\d{0,2}))?%$/;

/** The block `split_clients string $variable { ... }` (nginx ngx_http_split_clients_module#split_clients). */
export function readSplit({ args, block = [] }: DirectiveNode, scope: ReadScope): SplitConfig | undefined {
  const [keyWord, name] = args as [Word, Word];
  const variable = readers.readVariableName(name, scope);
  const key = scope.complexValue(keyWord);
  const parts: Part[] = [];
  let sum = 0;
  let below = 0;
  for (const line of block) {
    const share = readShare(line, scope);
    const value = line.args[0]?.value ?? '';
    if (share === undefined) return undefined;
    sum = share === 'rest' ? ALL : sum + share;
    if (sum > ALL) {
      scope.report.emerg('percent total is greater than 100%', line.name.span);
      return undefined;
    }
    // Rounded part by part, as nginx does.
    if (share !== 'rest') below += Math.floor((share * 0xffff_ffff) / ALL);
    parts.push(share === 'rest' ? { value } : { below, value });
  }
  return variable === undefined ? undefined : { variable, key, parts };
}

/** Hundredths of a percent. */
function readShare({ name, args, block }: DirectiveNode, { report }: ReadScope): number | 'rest' | undefined {
  if (block || args.length !== 1) {
    const message = block ? 'unexpected "{"' : 'invalid number of arguments in "split_clients" block';
    const rule = block ? 'unexpected-token' : 'wrong-arity';
    report.emerg(message, name.span, { rule, hint: 'expected a percentage or "*", and a value' });
    return undefined;
  }
  if (name.value === '*') return 'rest';
  const [, whole = '', fraction = ''] = PERCENT.exec(name.value) ?? [];
  const share = Number(whole) * 100 + Number(fraction.padEnd(2, '0'));
  if (share > 0) return share;
  report.emerg(`invalid percent value "${name.value}"`, name.span, 'expected a percentage such as 0.5%');
  return undefined;
}
