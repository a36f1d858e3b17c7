import type { Word } from '../../../grammar/index.ts';
import {
  type ArgReader,
  type ComplexValue,
  constantText,
  directivesFor,
  readers,
} from '../../config/index.ts';
import { type Build, moduleFor } from '../../contract/index.ts';
import {
  type BodyFilter,
  type Exchange,
  type HeaderFilter,
  mediaTypeTest,
  weakenEtag,
} from '../../http/index.ts';
import { lowerAscii, type Pattern, ReplacingTransform, Search } from './replacement.ts';

/** `sub_filter string replacement`. */
interface Substitution {
  readonly match: ComplexValue;
  readonly replacement: ComplexValue;
}

interface SubFilterConfig {
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
const directives = directivesFor<SubFilterConfig>()({
  sub_filter: {
    contexts: HSL,
    args: substitution,
    into: 'substitutions',
    repeat: 'append',
    summary: 'Replaces text in the body of responses, ignoring case.',
    source: 'nginx ngx_http_sub_module#sub_filter',
  },
  sub_filter_once: {
    contexts: HSL,
    args: readers.flag,
    into: 'once',
    default: true,
    summary: 'Whether only the first occurrence of each text is replaced.',
    source: 'nginx ngx_http_sub_module#sub_filter_once',
  },
  sub_filter_types: {
    contexts: HSL,
    args: readers.mediaTypes,
    into: 'types',
    repeat: 'append',
    default: [['text/html']],
    defaultText: 'text/html',
    summary: 'Media types of the responses that `sub_filter` changes, besides text/html; `*` for all.',
    source: 'nginx ngx_http_sub_module#sub_filter_types',
  },
  sub_filter_last_modified: {
    contexts: HSL,
    args: readers.flag,
    into: 'lastModified',
    default: false,
    summary: 'Whether a changed response keeps its `Last-Modified` and, as a weak one, its `ETag`.',
    source: 'nginx ngx_http_sub_module#sub_filter_last_modified',
  },
});

/** Replaces text in the body of responses (nginx ngx_http_sub_module). */
export const subFilter = moduleFor<SubFilterConfig>()({
  name: 'sub_filter',
  summary: 'Replaces text in responses.',
  directives,
  enabled: ({ substitutions }) => substitutions !== undefined,
  compile: (config, _resources, build) => ({
    bodyFilter: compileFilter(config, build),
    ...(config.types.flat().includes('*') && { filter: validatorsOfNothing(config) }),
  }),
});

/** Changes the validators of the response, which belong to the original text. */
function changeValidators(x: Exchange, { lastModified }: Pick<SubFilterConfig, 'lastModified'>): void {
  if (lastModified) return weakenEtag(x);
  x.response.removeHeader('Last-Modified');
  x.response.removeHeader('ETag');
}

/** Compiles the filter for a 304. It has no content type, so only `*` matches it. */
function validatorsOfNothing(config: SubFilterConfig): HeaderFilter {
  return (x) => {
    if (x.status === 304) changeValidators(x, config);
  };
}

function compileFilter({ substitutions = [], ...config }: SubFilterConfig, build: Build): BodyFilter {
  const hasType = mediaTypeTest(config.types.flat());
  const patternsOf = compilePatterns(substitutions, build);
  const substitutes = substitutions.map(({ replacement }) => build.value(replacement));
  const searchFor = keepSearches();
  return {
    wants: (x) => x.response.lengthBytes !== 0 && hasType(x) && patternsOf(x).length > 0,
    open(x) {
      changeValidators(x, config);
      const substitute = (index: number): string => bytesText(substitutes[index]?.(x) ?? '');
      return new ReplacingTransform({ patterns: patternsOf(x), once: config.once, substitute, searchFor });
    },
  };
}

/** Compiles the patterns; one that is empty for a request is skipped. */
function compilePatterns(
  substitutions: readonly Substitution[],
  build: Build,
): (x: Exchange) => readonly Pattern[] {
  const renders = substitutions.map(({ match }) => build.value(match));
  const patterns = (x: Exchange): readonly Pattern[] =>
    renders
      .map((render, index) => ({ text: lowerAscii(bytesText(render(x))), index }))
      .filter(({ text }) => text !== '');
  if (!substitutions.every(({ match }) => constantText(match) !== undefined)) return patterns;
  const fixed = substitutions.map(({ match }, index) => ({
    text: lowerAscii(bytesText(constantText(match) ?? '')),
    index,
  }));
  return () => fixed;
}

/** Returns the bytes of a text as a Latin-1 text. */
function bytesText(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** Maximum number of searches that are kept: patterns with variables need one for each combination of values. */
const KEPT_SEARCHES = 64;

function keepSearches(): (patterns: readonly Pattern[]) => Search {
  const kept = new Map<string, Search>();
  return (patterns) => {
    const key = JSON.stringify(patterns.map(({ text, index }) => [index, text]));
    const known = kept.get(key);
    if (known) return known;
    const search = new Search(patterns);
    if (kept.size < KEPT_SEARCHES) kept.set(key, search);
    return search;
  };
}
