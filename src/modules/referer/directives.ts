import type { Word } from '../../../grammar/index.ts';
import { directivesFor, readRegex, readers } from '../../config/index.ts';
import type { ReadScope } from '../../config/index.ts';
import type { RegexConfig } from '../../contract/index.ts';

/** One parameter of `valid_referers`. */
export type Referer =
  | { readonly kind: 'none' }
  | { readonly kind: 'blocked' }
  | { readonly kind: 'server_names' }
  /** `*.example.org`, `www.example.*`, `.example.org` or a name, and what the path must begin with. */
  | { readonly kind: 'host'; readonly pattern: string; readonly path: string }
  | { readonly kind: 'regex'; readonly regex: RegexConfig };

/** Whose pages may lead to one location. */
export interface RefererConfig {
  readonly referers?: readonly (readonly Referer[])[];
}

const KEYWORDS = ['none', 'blocked', 'server_names'] as const;
const HOST = /^(?:\*\.|\.)?[^*]+$|^[^*]+\.\*$/;

/** True for what names somebody: the others only say what else is valid besides. */
export function isNamed({ kind }: Referer): boolean {
  return kind === 'host' || kind === 'server_names';
}

/** nginx's referer module. */
export const directives = directivesFor<RefererConfig>()({
  valid_referers: {
    contexts: ['server', 'location'],
    args: readers.words(
      { syntax: 'none | blocked | server_names | host[/path] | ~regex ...', min: 1, max: Infinity },
      (words, scope) => words.flatMap((word) => readReferer(word, scope) ?? []),
    ),
    into: 'referers',
    repeat: 'append',
    summary: 'Values of the request header `Referer` for which $invalid_referer is empty.',
    source: 'nginx ngx_http_referer_module#valid_referers',
  },
});

function readReferer(word: Word, scope: ReadScope): Referer | undefined {
  const keyword = KEYWORDS.find((name) => name === word.value);
  if (keyword) return { kind: keyword };
  if (word.value.startsWith('~')) {
    if (word.value === '~') scope.report.emerg(`empty regex in "${word.value}"`, word.span);
    const regex = word.value === '~' ? undefined : readRegex(word, { skip: 1, caseless: true }, scope);
    return regex && { kind: 'regex', regex };
  }
  const slash = word.value.indexOf('/');
  const pattern = (slash < 0 ? word.value : word.value.slice(0, slash)).toLowerCase();
  if (word.value === '') scope.report.emerg(`invalid referer "${word.value}"`, word.span);
  else if (!HOST.test(pattern)) scope.report.emerg(`invalid hostname or wildcard "${pattern}"`, word.span);
  else return { kind: 'host', pattern, path: slash < 0 ? '' : word.value.slice(slash) };
  return undefined;
}
