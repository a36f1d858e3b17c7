import type { DirectiveNode, Word } from '../../../../grammar/index.ts';
import { type ArgReader, nearest, readers, type ReadScope, renaming } from '../../../config/index.ts';
import type { CoreConfig, ErrorPageConfig, MimeTypes } from '../../../contract/index.ts';

/** `worker_processes number | auto`. */
export const workerCount: ArgReader<number | 'auto'> = readers.oneWord('number | auto', (word, scope) =>
  word.value === 'auto' ? 'auto' : readers.integer({ min: 1, max: 128 }).read([word], scope),
);

/** `error_page code ... [=[response]] uri`. */
export const errorPage: ArgReader<ErrorPageConfig> = readers.words(
  { syntax: 'code ... [=[response]] uri', min: 2, max: Infinity },
  (words, scope) => {
    const uri = words.at(-1) as Word;
    const target = scope.complexValue(uri);
    const before = words.slice(0, -1);
    const last = before.at(-1) as Word;
    const hasResponse = last.value.startsWith('=');
    const codes = (hasResponse ? before.slice(0, -1) : before).map((word) => readCode(word, scope));
    if (codes.some((code) => code === undefined)) return undefined;
    if (/^=|^$/.test(uri.value)) {
      scope.report.emerg(`invalid value "${uri.value}"`, uri.span, 'expected a URI, a URL or @name');
      return undefined;
    }
    if (codes.length === 0) {
      const message = 'invalid number of arguments in "error_page" directive';
      scope.report.emerg(message, last.span, { rule: 'wrong-arity' });
      return undefined;
    }
    if (!hasResponse) return { codes: codes as number[], target };
    const response = readResponse(last, scope);
    return response === undefined ? undefined : { codes: codes as number[], response, target };
  },
);

function readCode(word: Word, { report }: ReadScope): number | undefined {
  const code = Number(word.value);
  if (!/^\d+$/.test(word.value)) {
    report.emerg(`invalid value "${word.value}"`, word.span, 'expected a status code');
    return undefined;
  }
  if (code >= 300 && code <= 599 && code !== 499) return code;
  if (code === 499) report.emerg(`invalid value "${word.value}"`, word.span);
  else report.emerg(`value "${word.value}" must be between 300 and 599`, word.span);
  return undefined;
}

function readResponse(word: Word, { report }: ReadScope): number | 'target' | undefined {
  if (word.value === '=') return 'target';
  if (/^=[1-9]\d\d$/.test(word.value)) return Number(word.value.slice(1));
  report.emerg(`invalid value "${word.value}"`, word.span, 'expected =code or =');
  return undefined;
}

/** `server_tokens on | off | build | string`. */
export const serverTokens: ArgReader<CoreConfig['serverTokens']> = readers.oneWord(
  'on | off | build | string',
  (word, scope) => {
    const { value } = word;
    return value === 'on' || value === 'off' || value === 'build' ? value : scope.complexValue(word);
  },
);

/** Reads the block `types { type extension ...; }`. */
export function readTypes(node: DirectiveNode, { report }: ReadScope): MimeTypes {
  const types: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const { name, args } of node.block ?? []) {
    for (const { value, span } of args) {
      const extension = value.toLowerCase();
      const before = types[extension];
      if (before !== undefined)
        report.warn(
          `duplicate extension "${value}", content type: "${name.value}", previous content type: "${before}"`,
          span,
          { rule: 'duplicate-directive' },
        );
      types[extension] = name.value;
    }
  }
  return { ...types };
}

/** The methods that nginx knows (ngx_http_core_module.c: ngx_methods_names), and QUERY. */
const METHODS =
  'GET HEAD POST PUT DELETE MKCOL COPY MOVE OPTIONS PROPFIND PROPPATCH LOCK UNLOCK PATCH QUERY'.split(' ');

/** `limit_except method ...`, in upper case. */
export const methods: ArgReader<readonly string[]> = readers.words(
  { syntax: 'method ...', min: 1, max: Infinity },
  (words, { report }) => {
    const named = words.map(({ value }) => value.toUpperCase());
    const unknown = words.filter((_word, index) => !METHODS.includes(named[index] as string));
    for (const { value, span } of unknown) {
      const near = nearest(value, METHODS);
      const fix = near === undefined ? undefined : renaming(span, near);
      report.emerg(`invalid method "${value}"`, span, { fix });
    }
    if (unknown.length > 0) return undefined;
    return named.includes('GET') ? [...named, 'HEAD'] : named;
  },
);
