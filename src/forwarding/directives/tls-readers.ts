import { resolve } from 'node:path';
import type { Word } from '../../../grammar/index.ts';
import type { LoadedFile, TlsVersion } from '../../client/index.ts';
import { type ArgReader, readers, type ReadScope } from '../../config/index.ts';
import { namedFile } from '../../http/index.ts';
import { readerOf, systemReason } from '../../system/index.ts';

/**
 * Reads the content of a file; a relative path starts at the configuration's directory. The file is read at load time,
 * because the process that serves requests may not have the right to read it.
 */
export function loadedFile(what: string, takesVariables = false): ArgReader<LoadedFile> {
  return readers.oneWord('file', (word, scope) => {
    const { report, confDir } = scope;
    // An empty name cancels an inherited one (nginx).
    if (word.value === '') return { path: '', text: '' };
    const named = takesVariables ? namedFile(scope.complexValue(word), confDir) : undefined;
    if (named) return { path: word.value, text: '', named };
    const path = resolve(confDir, word.value);
    try {
      return { path, text: readerOf(report)(path).toString() };
    } catch (error) {
      report.emerg(`cannot load ${what} "${path}": open() failed (${systemReason(error)})`, word.span);
      return undefined;
    }
  });
}

const VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const;

/** nginx accepts the old names as well, but no TLS library supports these versions any more. */
const named = readers.someOf(['SSLv2', 'SSLv3', ...VERSIONS]);
/** Reads the versions of TLS that are allowed. */
export const tlsVersions: ArgReader<readonly TlsVersion[]> = {
  ...named,
  read: (words, scope) => named.read(words, scope)?.filter((name) => name !== 'SSLv2' && name !== 'SSLv3'),
};

const FILES: ReadonlyMap<string, ArgReader<LoadedFile>> = new Map([
  ['Certificate', loadedFile('certificate')],
  ['PrivateKey', loadedFile('certificate key')],
]);
const COMMANDS = [
  ...FILES.keys(),
  'MinProtocol',
  'MaxProtocol',
  'CipherString',
  'Ciphersuites',
  'Curves',
  'Groups',
];

/** Reads an OpenSSL command and its value. */
export const confCommand = readers.words({ syntax: 'name value', min: 2, max: 2 }, readCommand);

function readCommand(
  words: readonly Word[],
  scope: ReadScope,
): readonly [string, string, LoadedFile?] | undefined {
  const [name, given] = words as [Word, Word];
  const known = COMMANDS.find((command) => command.toLowerCase() === name.value.toLowerCase());
  const file = FILES.get(known ?? '')?.read([given], scope);
  if (known !== undefined)
    return FILES.has(known) ? file && [known, given.value, file] : [known, given.value];
  scope.report.emerg(
    `SSL_CONF_cmd("${name.value}", "${given.value}") failed`,
    name.span,
    `expected ${COMMANDS.join(', ')}`,
  );
  return undefined;
}
