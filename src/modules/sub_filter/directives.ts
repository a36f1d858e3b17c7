import { constantText, directivesFor, readers } from '../../config/index.ts';
import type { ArgReader, ComplexValue } from '../../config/index.ts';
import type { Word } from '../../../grammar/index.ts';

/** `sub_filter string replacement`. */
export interface Substitution {
  readonly match: ComplexValue;
  readonly replacement: ComplexValue;
}

export interface SubFilterConfig {
  readonly substitutions?: readonly Substitution[];
  readonly once: boolean;
  readonly types: readonly (readonly string[])[];
  readonly lastModified: boolean;
}

const HSL = ['http', 'server', 'location'] as const;

const substitution: ArgReader<Substitution> = readers.words(
  { syntax: 'string replacement', min: 2, max: 2 },
  (words, scope) => {
    const [match, replacement] = words as [Word, Word];
    const read = { match: scope.complexValue(match), replacement: scope.complexValue(replacement) };
    if (constantText(read.match) !== '') return read;
    scope.report.emerg('empty search pattern', match.span);
    return undefined;
  },
);

/** nginx's sub module. */
export const directives = directivesFor<SubFilterConfig>()({
  sub_filter: {
    contexts: HSL,
    args: substitution,
    into: 'substitutions',
    repeat: 'append',
    summary: 'Replaces text in the body of answers, whatever the case of its letters.',
    source: 'nginx ngx_http_sub_module#sub_filter',
  },
  sub_filter_once: {
    contexts: HSL,
    args: readers.flag,
    into: 'once',
    default: true,
    summary: 'Whether each text is replaced at its first place only.',
    source: 'nginx ngx_http_sub_module#sub_filter_once',
  },
  sub_filter_types: {
    contexts: HSL,
    args: readers.mediaTypes,
    into: 'types',
    repeat: 'append',
    default: [['text/html']],
    defaultText: 'text/html',
    summary: 'Media types of the answers that `sub_filter` changes, besides text/html; `*` for all.',
    source: 'nginx ngx_http_sub_module#sub_filter_types',
  },
  sub_filter_last_modified: {
    contexts: HSL,
    args: readers.flag,
    into: 'lastModified',
    default: false,
    summary: 'Whether a changed answer keeps its `Last-Modified` and, made weak, its `ETag`.',
    source: 'nginx ngx_http_sub_module#sub_filter_last_modified',
  },
});
