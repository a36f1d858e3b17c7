import { spanInWord } from '../../grammar/index.ts';
import type { Word } from '../../grammar/index.ts';
import { translatePcre } from './regex/index.ts';
import type { RegexBounds } from './regex/index.ts';
import type { ReadScope } from './row.ts';

/** A PCRE pattern, translated; plain data. */
export interface ReadRegex {
  readonly pattern: string;
  readonly source: string;
  readonly names: readonly string[];
  /** How many groups capture, the named ones among them. */
  readonly groups: number;
  readonly bounds: RegexBounds;
}

/** Reads the pattern that a word holds from `skip` on; its named captures become variables of the configuration. */
export function readRegex(
  word: Word,
  { skip, caseless }: { readonly skip: number; readonly caseless: boolean },
  scope: ReadScope,
): ReadRegex | undefined {
  const pattern = word.value.slice(skip);
  const translated = translatePcre(pattern, { caseless });
  if ('fault' in translated) {
    const { fault, offset } = translated;
    const rest = offset === pattern.length ? '' : ` at "${pattern.slice(offset)}"`;
    const isOurs = fault.startsWith('PCRE construct');
    const message = isOurs
      ? `${fault}, in "${pattern}"`
      : `pcre2_compile() failed: ${fault} in "${pattern}"${rest}`;
    scope.report.emerg(message, spanInWord(word, skip + offset, word.value.length), {
      rule: 'bad-regex',
    });
    return undefined;
  }
  for (const name of translated.names) scope.defineVariable(name, word.span, 'captured');
  const { source, names, groups, bounds } = translated;
  return { pattern, source, names, groups, bounds };
}
