import type { DirectiveNode, Word } from '../../../grammar/index.ts';
import type { ReadScope } from '../../config/index.ts';

/** One `charset_map from to { … }`: bytes of `from`, and what each is in `to` as hexadecimal bytes. */
export interface CharsetMap {
  readonly from: string;
  readonly to: string;
  /** By byte of `from`. */
  readonly bytes: Readonly<Record<number, readonly number[]>>;
}

/** UTF-8 characters of a map are of the basic plane: three bytes at most. */
const MOST_UTF8_BYTES = 3;

/** Reads the block; a fault in a line leaves the line out. */
export function readCharsetMap(
  node: DirectiveNode,
  { report }: ReadScope,
): readonly CharsetMap[] | undefined {
  const [from, to] = node.args;
  if (!from || !to || node.args.length > 2) {
    const message = 'invalid number of arguments in "charset_map" directive';
    report.emerg(message, node.name.span, { rule: 'wrong-arity' });
    return undefined;
  }
  if (from.value.toLowerCase() === to.value.toLowerCase()) {
    report.emerg(`"charset_map" between the same charsets "${from.value}" and "${to.value}"`, node.name.span);
    return undefined;
  }
  const mostBytes = to.value.toLowerCase() === 'utf-8' ? MOST_UTF8_BYTES : 1;
  const bytes: Record<number, readonly number[]> = {};
  for (const line of node.block ?? []) {
    const [target, ...others] = line.args;
    if (!target || others.length > 0) {
      report.emerg('invalid parameters number', line.name.span, { rule: 'wrong-arity' });
      continue;
    }
    const [source] = hexBytes(line.name, 1) ?? [];
    const targets = hexBytes(target, mostBytes);
    const wrong = source === undefined ? line.name : target;
    if (source === undefined || !targets) report.emerg(`invalid value "${wrong.value}"`, wrong.span);
    else bytes[source] = targets;
  }
  return [{ from: from.value, to: to.value, bytes }];
}

function hexBytes({ value }: Pick<Word, 'value'>, most: number): readonly number[] | undefined {
  const padded = value.length === 1 ? `0${value}` : value;
  if (!/^(?:[\da-f]{2})+$/i.test(padded) || padded.length > 2 * most) return undefined;
  const bytes = [...Buffer.from(padded, 'hex')];
  return most === 1 || isOneCharacter(bytes) ? bytes : undefined;
}

function isOneCharacter(bytes: readonly number[]): boolean {
  const text = Buffer.from(bytes).toString('utf8');
  return text.length === 1 && text !== '\ufffd';
}
