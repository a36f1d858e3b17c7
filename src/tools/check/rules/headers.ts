import { type DirectiveNode, type Fix, reworded, type Span, type Word } from '../../../../grammar/index.ts';
import type { CheckedConfig, Problem, Rule, Use } from '../../../contract/index.ts';
import { analysisOf } from '../analysis.ts';
import { containing } from '../regex/index.ts';
import type { ClientSource } from '../taint/index.ts';

/** Directives whose values become part of the head of a response or request. */
const SINKS = ['return', 'rewrite', 'add_header', 'add_trailer', 'proxy_set_header', 'proxy_pass'];

const httpSplitting: Rule = {
  id: 'GW303',
  slug: 'http-splitting',
  severity: 'error',
  summary: 'a decoded value, which can contain line breaks, in a header or a redirect',
  why: 'The path in "$uri" is decoded: "%0d%0a" in a request becomes a line break, and the text after it becomes a header that the client chooses: a cookie, or a second response. gw refuses to send such a header, but nginx sends it.',
  fix: 'Use "$request_uri", which stays as the client sent it, or a pattern whose groups match no line breaks.',
  bad: { text: 'location / { return 301 https://example.com$uri; }' },
  good: { text: 'location / { return 301 https://example.com$request_uri; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const use of config.uses(...SINKS)) {
      for (const word of wordsOf(use.node)) yield* splittingProblems(word, use, config);
    }
  },
};

const LINE_BREAK = containing('\n');

function* splittingProblems(word: Word, use: Use, config: CheckedConfig): Iterable<Problem> {
  if (!word.value.includes('$')) return;
  const { taints, locations } = analysisOf(config);
  const told = new Set<string>();
  for (const piece of taints.alternativesOf(word, use).flat()) {
    if (typeof piece === 'string' || told.has(piece.name)) continue;
    if (taints.badTextOf(piece, LINE_BREAK) === undefined || locations.isUnreachable(use.block)) continue;
    told.add(piece.name);
    const related = piece.related.filter(({ span }) => !isInside(span, word.span));
    const fix = requestUriFix(word, piece);
    yield {
      at: word.span,
      message: `"${piece.name}" can contain line breaks from the client: ${whatFor(use.node)}`,
      related,
      ...(fix && { fix }),
    };
  }
}

/** The words of a directive that become part of a head. */
function wordsOf({ name, args }: DirectiveNode): readonly Word[] {
  const [first, second, flag] = args;
  switch (name.value) {
    case 'return':
      return first && (!second || /^30[12378]$/.test(first.value)) ? [second ?? first] : [];
    case 'rewrite':
      return second &&
        (/^(redirect|permanent)$/.test(flag?.value ?? '') || /^(https?:|\$scheme)/.test(second.value))
        ? [second]
        : [];
    case 'proxy_pass':
      return first ? [first] : [];
    default:
      return second ? [second] : [];
  }
}

function whatFor({ name, args }: DirectiveNode): string {
  switch (name.value) {
    case 'return':
    case 'rewrite':
      return 'header "Location" can be split';
    case 'proxy_pass':
      return 'the request to the upstream can be split';
    default:
      return `header "${args[0]?.value ?? ''}" can be split`;
  }
}

/** The path with its query; a path inside another text is left to the author. */
const WHOLE = /^(.*?)\$(?:document_)?uri(?:\$is_args\$(?:args|query_string)|\?\$(?:args|query_string))?$/;

function requestUriFix({ value, span, quote }: Word, { name }: ClientSource): Fix | undefined {
  const before = name === '$uri' || name === '$document_uri' ? WHOLE.exec(value)?.[1] : undefined;
  const isPlain = span.source.text.slice(span.start + quote.length, span.end - quote.length) === value;
  if (before === undefined || !isPlain) return undefined;
  const start = span.start + quote.length + before.length;
  return {
    title: 'use "$request_uri", which keeps escapes and includes the query',
    safe: false,
    edits: [{ span: { ...span, start, end: span.end - quote.length }, text: '$request_uri' }],
  };
}

function isInside(inner: Span, outer: Span): boolean {
  return inner.source === outer.source && inner.start >= outer.start && inner.end <= outer.end;
}

const headerMultiline: Rule = {
  id: 'GW305',
  slug: 'header-multiline',
  severity: 'error',
  summary: 'the value of a header has several lines',
  why: 'Headers with several lines are obsolete (RFC 9112, 5.2). nginx sends the line break unchanged; clients and proxies refuse the response, or read the rest as another header.',
  fix: 'Write the value in one line. Long values can be built with "set" or "map".',
  bad: { text: 'add_header Content-Security-Policy "default-src \'self\';\n    img-src *";' },
  good: { text: 'add_header Content-Security-Policy "default-src \'self\'; img-src *";' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('add_header', 'add_trailer', 'proxy_set_header')) {
      const [name, value] = node.args;
      if (!name || !value || !/[\r\n]/.test(value.value)) continue;
      yield {
        at: value.span,
        message: `the value of header "${name.value}" contains a line break`,
        ...(!value.secret && { fix: joiningFix(value) }),
      };
    }
  },
};

function joiningFix(word: Word): Problem['fix'] {
  const edit = reworded(word, word.value.replaceAll(/[ \t]*(?:\r?\n|\r)[ \t]*/g, ' '));
  return { title: 'join the lines', safe: false, edits: [edit] };
}

/** The rules about headers. */
export const HEADER_RULES: readonly Rule[] = [httpSplitting, headerMultiline];
