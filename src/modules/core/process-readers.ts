import type { Word } from '../../../grammar/index.ts';
import { readers } from '../../config/index.ts';
import type { ArgReader } from '../../config/index.ts';
import type { EnvironmentVariable } from '../../contract/index.ts';

/** `user user [group]`. */
export const user: ArgReader<string> = readers.words(
  { syntax: 'user [group]', min: 1, max: 2 },
  ([name]) => (name as Word).value,
);

/** `env NAME[=value]`. */
export const environmentVariable: ArgReader<EnvironmentVariable> = readers.oneWord(
  'NAME[=value]',
  ({ value: word, span }, { report }) => {
    const equals = word.indexOf('=');
    const name = equals < 0 ? word : word.slice(0, equals);
    if (name === '' || name.includes('\0')) {
      report.emerg(`invalid value "${word}"`, span, 'expected NAME or NAME=value');
      return undefined;
    }
    return equals < 0 ? { name } : { name, value: word.slice(equals + 1) };
  },
);
