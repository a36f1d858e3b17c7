import type { Word } from '../../../grammar/index.ts';
import { findAccount, findGroup, readers } from '../../config/index.ts';
import type { Account, ArgReader } from '../../config/index.ts';
import type { EnvironmentVariable } from '../../contract/index.ts';

/** `user user [group]`; nginx's words for those that do not exist. Somebody else than root cannot become anybody. */
export const user: ArgReader<Account> = readers.words(
  { syntax: 'user [group]', min: 1, max: 2 },
  ([nameWord, groupWord], { report }) => {
    const { value: name, span } = nameWord as Word;
    if (process.getuid?.() !== 0) return { name, uid: -1, gid: -1 };
    const account = findAccount(name);
    if (!account) report.emerg(`getpwnam("${name}") failed`, span);
    // nginx wants a group of the user's name where none is given; Debian's "nobody" has none.
    const gid = groupWord ? findGroup(groupWord.value) : (findGroup(name) ?? account?.gid);
    if (groupWord && gid === undefined) report.emerg(`getgrnam("${groupWord.value}") failed`, groupWord.span);
    return account && gid !== undefined ? { ...account, gid } : undefined;
  },
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
