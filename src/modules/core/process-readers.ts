import { placeOf } from '../../../grammar/index.ts';
import type { Word } from '../../../grammar/index.ts';
import { readers } from '../../config/index.ts';
import type { ArgReader } from '../../config/index.ts';
import type { EnvironmentVariable, UserConfig } from '../../contract/index.ts';

/** `user user [group]`. Whether they exist is asked where gw is about to become them: who checks a file may be elsewhere. */
export const user: ArgReader<UserConfig> = readers.words(
  { syntax: 'user [group]', min: 1, max: 2 },
  ([name, group]) => ({
    name: (name as Word).value,
    ...(group && { group: group.value }),
    place: placeOf((name as Word).span),
  }),
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
