import type { Word } from '../../../grammar/index.ts';
import { constantText, readers } from '../../config/index.ts';
import type { ArgReader, ComplexValue, ReadScope } from '../../config/index.ts';
import type { OpenFileCacheConfig, SymlinksConfig, TriedFile, TryFilesConfig } from './config.ts';

/** `index file ...`: an absolute one ends the list, whatever follows is never asked for. */
export const indexFiles: ArgReader<readonly ComplexValue[]> = readers.words(
  { syntax: 'file ...', min: 1, max: Infinity },
  (words, scope) => {
    const empty = words.find(({ value }) => value === '');
    if (empty) scope.report.emerg(`index "${empty.value}" in "index" directive is invalid`, empty.span);
    for (const { value, span } of words.slice(0, -1)) {
      if (value.startsWith('/'))
        scope.report.warn('only the last index in "index" directive should be absolute', span);
    }
    return empty ? undefined : words.map((word) => scope.complexValue(word));
  },
);

/** `try_files file ... uri | =code`. */
export const tryFiles: ArgReader<TryFilesConfig> = readers.words(
  { syntax: 'file ... uri | file ... =code', min: 2, max: Infinity },
  (words, scope) => {
    const last = words.at(-1) as Word;
    const files = words.slice(0, -1).map((word) => triedFile(word, scope));
    if (!last.value.startsWith('=')) {
      const target = scope.complexValue(last);
      return { files, fallback: { target, hasVariables: constantText(target) === undefined } };
    }
    const code = Number(last.value.slice(1));
    if (/^=\d{1,3}$/.test(last.value)) return { files, fallback: { code } };
    scope.report.emerg(`invalid code "${last.value}"`, last.span);
    return undefined;
  },
);

function triedFile(word: Word, scope: ReadScope): TriedFile {
  const name = scope.complexValue(word);
  const isDirectory = word.value.endsWith('/');
  const hasVariables = constantText(name) === undefined;
  if (!isDirectory) return { name, isDirectory, hasVariables };
  const parts = [...name.parts];
  // A value that ends with a slash ends with a text.
  parts.push((parts.pop() as string).slice(0, -1));
  return { name: { parts }, isDirectory, hasVariables };
}

/** `disable_symlinks off | on [from=part] | if_not_owner [from=part]`. */
export const symlinks: ArgReader<SymlinksConfig> = readers.words(
  { syntax: 'off | on [from=part] | if_not_owner [from=part]', min: 1, max: 2 },
  (words, { report, span, complexValue }) => {
    const rules = words.flatMap(({ value }) => RULES.find((rule) => rule === value) ?? []);
    const [from] = words.filter(({ value }) => value.startsWith('from='));
    const unknown = words.find(
      ({ value }) => !value.startsWith('from=') && !RULES.some((rule) => rule === value),
    );
    const [rule] = rules;
    if (unknown) report.emerg(`invalid parameter "${unknown.value}"`, unknown.span);
    else if (!rule)
      report.emerg('"disable_symlinks" must have "off", "on" or "if_not_owner" parameter', span);
    else if (rules.length > 1)
      report.emerg(`duplicate parameters "${rules.join(' ')}"`, span, { rule: 'duplicate-directive' });
    else if (rule === 'off' && from) report.emerg('"from=" cannot be used with "off" parameter', from.span);
    else return { rule, ...(from && { from: without('from=', complexValue(from)) }) };
    return undefined;
  },
);

const RULES = ['off', 'on', 'if_not_owner'] as const;

/** `open_file_cache off | max=number [inactive=time]`. */
export const openFileCache: ArgReader<OpenFileCacheConfig | 'off'> = readers.words(
  { syntax: 'off | max=number [inactive=time]', min: 1, max: 2 },
  (words, { report, span }) => {
    if (words.some(({ value }) => value === 'off')) return 'off';
    let max: number | undefined;
    let inactiveMs = 60_000;
    for (const word of words) {
      const [name, value = ''] = word.value.split(/=(.*)/s);
      const timeMs = name === 'inactive' ? readers.parseTimeMs(value) : undefined;
      if (name === 'max' && /^[1-9]\d{0,9}$/.test(value)) max = Number(value);
      else if (timeMs !== undefined) inactiveMs = timeMs;
      else {
        report.emerg(`invalid "open_file_cache" parameter "${word.value}"`, word.span);
        return undefined;
      }
    }
    if (max !== undefined) return { max, inactiveMs };
    report.emerg('"open_file_cache" must have the "max" parameter', span);
    return undefined;
  },
);

/** A value without the text that it begins with. */
function without(prefix: string, { parts: [first, ...rest] }: ComplexValue): ComplexValue {
  const left = (first as string).slice(prefix.length);
  return { parts: left === '' ? rest : [left, ...rest] };
}
