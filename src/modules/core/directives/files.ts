import type { Word } from '../../../../grammar/index.ts';
import {
  type ArgReader,
  type ComplexValue,
  directivesFor,
  pathFrom,
  readers,
  type ReadScope,
} from '../../../config/index.ts';
import type { CoreConfig, DocumentRootConfig, LocationMatch } from '../../../contract/index.ts';

/** Variables that depend on the root cannot be used in it. */
const CIRCULAR = ['document_root', 'realpath_root'];

/** `root path`. A trailing slash is removed, since every URI begins with one (nginx: ngx_http_core_root). */
const root: ArgReader<DocumentRootConfig> = readers.oneWord('path', (word, scope) => {
  const path = readPath(word, scope);
  return path && { kind: 'root', path: { parts: path.parts.map(withoutSlashAtEnd) } };
});

/** `alias path`. The text replaces that of the location as it is, with or without a slash. */
const alias: ArgReader<DocumentRootConfig> = readers.oneWord('path', (word, scope) => {
  const location = scope.block.args as LocationMatch | undefined;
  if (location?.kind === 'named') {
    scope.report.emerg('the "alias" directive cannot be used inside the named location', word.span);
    return undefined;
  }
  const path = readPath(word, scope);
  // A location with invalid arguments has been reported already.
  if (!path || !location) return undefined;
  return location.kind === 'regex'
    ? { kind: 'regex alias', path }
    : { kind: 'alias', path, location: location.path };
});

type Part = ComplexValue['parts'][number];

function withoutSlashAtEnd(part: Part, index: number, { length }: readonly Part[]): Part {
  return typeof part === 'string' && index === length - 1 ? part.replace(/\/$/, '') : part;
}

function readPath(word: Word, scope: ReadScope): ComplexValue | undefined {
  const value = scope.complexValue(word);
  for (const part of value.parts) {
    if (typeof part === 'string' || !('variable' in part) || !CIRCULAR.includes(part.variable)) continue;
    const message = `the $${part.variable} variable cannot be used in the "${scope.directive}" directive`;
    scope.report.emerg(message, word.span);
    return undefined;
  }
  const [first = ''] = value.parts;
  const isRelative = typeof first === 'string' && !first.startsWith('/');
  return isRelative ? { parts: [`${scope.prefix}/${first}`, ...value.parts.slice(1)] } : value;
}

/** Directives for the paths of files. */
export const files = directivesFor<CoreConfig>()({
  root: {
    contexts: ['http', 'server', 'location', 'location if'],
    args: root,
    into: 'documentRoot',
    defaultText: 'html',
    summary: 'The directory in which files are looked up by their URI, relative to the prefix.',
    roles: pathFrom('prefix'),
    source: 'nginx ngx_http_core_module#root',
  },
  alias: {
    contexts: ['location'],
    args: alias,
    into: 'documentRoot',
    summary: 'A path that replaces the location in the URI; in a regex location the whole path.',
    roles: pathFrom('prefix'),
    source: 'nginx ngx_http_core_module#alias',
  },
});
