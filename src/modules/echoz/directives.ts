import type { Word } from '../../../grammar/index.ts';
import {
  type ArgReader,
  AT,
  type ComplexValue,
  constantText,
  directivesFor,
  readers,
  type ReadScope,
  uses,
} from '../../config/index.ts';
import type { ConfigReport } from '../../contract/index.ts';
import { hasNoBody, isSafeHeaderName } from '../../http/index.ts';

/** A URI of this server or a named location, with arguments of its own or none. */
export interface Target {
  readonly uri: ComplexValue;
  readonly args?: ComplexValue;
}

/** One directive of the content, in file order. */
export type Step =
  | { readonly kind: 'text'; readonly words: readonly ComplexValue[]; readonly end: '\n' | '' }
  | { readonly kind: 'duplicate'; readonly times: number; readonly words: readonly ComplexValue[] }
  | { readonly kind: 'flush' | 'read body' | 'body' }
  | { readonly kind: 'sleep'; readonly delayMs: number }
  | { readonly kind: 'subrequest' | 'redirect'; readonly target: Target };

export interface EchozConfig {
  readonly steps?: readonly Step[];
  /** The words of each directive. */
  readonly before?: readonly (readonly ComplexValue[])[];
  readonly after?: readonly (readonly ComplexValue[])[];
  readonly status?: { readonly code: number; readonly reason?: ComplexValue };
  readonly headers?: readonly { readonly name: string; readonly value: ComplexValue }[];
}

const valuesOf = (words: readonly Word[], scope: ReadScope): readonly ComplexValue[] =>
  words.map((word) => scope.complexValue(word));

const lineReader = (end: '\n' | ''): ArgReader<Step> =>
  readers.words({ syntax: '[string ...]', min: 0, max: Infinity }, (words, scope) => ({
    kind: 'text',
    words: valuesOf(words, scope),
    end,
  }));

const plain = (kind: 'flush' | 'read body' | 'body'): ArgReader<Step> => ({
  ...readers.present,
  read: () => ({ kind }),
});

const duplicate: ArgReader<Step> = readers.words(
  { syntax: 'number string ...', min: 2, max: Infinity },
  ([count, ...words], scope) => {
    const { value, span } = count as Word;
    if (/^\d[\d_]{0,14}$/.test(value))
      return { kind: 'duplicate', times: Number(value.replaceAll('_', '')), words: valuesOf(words, scope) };
    scope.report.emerg(`"${scope.directive}" directive invalid number`, span);
    return undefined;
  },
);

const sleep: ArgReader<Step> = readers.oneWord('number', ({ value, span }, { report, directive }) => {
  if (/^\d{1,6}(?:\.\d+)?$/.test(value)) return { kind: 'sleep', delayMs: Math.round(Number(value) * 1000) };
  report.emerg(`"${directive}" directive invalid value`, span, 'expected seconds such as 2 or 0.5');
  return undefined;
});

const targetReader = (kind: 'subrequest' | 'redirect'): ArgReader<Step> =>
  readers.words({ syntax: 'uri [string] | @name', min: 1, max: 2 }, (words, scope) => {
    const [word, args] = words as [Word, Word?];
    const uri = scope.complexValue(word);
    if (/^[/@]/.test(constantText(uri) ?? '/'))
      return { kind, target: { uri, ...(args && { args: scope.complexValue(args) }) } };
    scope.report.emerg(`invalid URI "${word.value}"`, word.span, 'expected a path or a named location');
    return undefined;
  });

const wrapping: ArgReader<readonly ComplexValue[]> = readers.words(
  { syntax: 'string ...', min: 1, max: Infinity },
  valuesOf,
);

const status: ArgReader<NonNullable<EchozConfig['status']>> = readers.words(
  { syntax: 'code [reason]', min: 1, max: 2 },
  (words, scope) => {
    const [{ value, span }, reason] = words as [Word, Word?];
    const code = /^[2-5]\d\d$/.test(value) ? Number(value) : 0;
    if (code > 0 && !hasNoBody(code) && code !== 206)
      return { code, ...(reason && { reason: scope.complexValue(reason) }) };
    scope.report.emerg(
      `invalid status "${value}"`,
      span,
      'expected a status of a response with a body, from 200 to 599',
    );
    return undefined;
  },
);

/** Headers that frame a response: changing one would desynchronize the connection. */
const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'connection']);

const header: ArgReader<NonNullable<EchozConfig['headers']>[number]> = readers.words(
  { syntax: 'name value', min: 2, max: 2 },
  (words, scope) => {
    const [name, value] = words as [Word, Word];
    if (isSafeHeaderName(name.value) && !name.value.includes('$') && !FRAMING.has(name.value.toLowerCase()))
      return { name: name.value, value: scope.complexValue(value) };
    scope.report.emerg(`invalid header name "${name.value}"`, name.span);
    return undefined;
  },
);

const CONTEXTS = ['location', 'location if'] as const;
const SOURCE = 'nginz echoz';

/** The common part of the rows of content directives. */
const step = (args: ArgReader<Step>, summary: string, name: string) =>
  ({
    contexts: CONTEXTS,
    args,
    into: 'steps',
    repeat: 'append',
    inherit: 'nameless',
    summary,
    source: `${SOURCE}#${name}`,
  }) as const;

export const directives = directivesFor<EchozConfig>()({
  echoz: step(
    lineReader('\n'),
    'Responds with a line of text. The directives of the content are carried out in their order.',
    'echoz',
  ),
  echozn: step(lineReader(''), 'Responds with a text without a line feed at its end.', 'echozn'),
  echoz_duplicate: step(duplicate, 'Responds with a text, repeated this many times.', 'echoz_duplicate'),
  echoz_flush: step(plain('flush'), 'Sends the head and the text so far before it goes on.', 'echoz_flush'),
  echoz_sleep: step(sleep, 'Waits this many seconds; the text so far is sent before.', 'echoz_sleep'),
  echoz_read_request_body: step(
    plain('read body'),
    'Reads the request body, for `$request_body` and `echoz_request_body`.',
    'echoz_read_request_body',
  ),
  echoz_request_body: step(
    plain('body'),
    'Responds with the request body, which is read if it has not been.',
    'echoz_request_body',
  ),
  echoz_location_async: {
    ...step(
      targetReader('subrequest'),
      'Requests a URI of this server in the background; its response is ignored.',
      'echoz_location_async',
    ),
    roles: uses('named location', AT.location),
  },
  echoz_exec: {
    ...step(
      targetReader('redirect'),
      'Redirects the request internally. It is the last of the directives, and no text comes before it.',
      'echoz_exec',
    ),
    roles: uses('named location', AT.location),
  },
  echoz_before_body: {
    contexts: CONTEXTS,
    args: wrapping,
    into: 'before',
    repeat: 'append',
    inherit: 'nameless',
    summary:
      'Text in front of the body of each response of the location that is neither compressed nor a part.',
    source: `${SOURCE}#echoz_before_body`,
  },
  echoz_after_body: {
    contexts: CONTEXTS,
    args: wrapping,
    into: 'after',
    repeat: 'append',
    inherit: 'nameless',
    summary: 'Text behind the body of such responses.',
    source: `${SOURCE}#echoz_after_body`,
  },
  echoz_status: {
    contexts: CONTEXTS,
    args: status,
    into: 'status',
    inherit: 'nameless',
    summary:
      'The status of the responses of the location that succeed and have a whole body, with a reason phrase of its own; errors and redirects keep theirs.',
    source: `${SOURCE}#echoz_status`,
  },
  echoz_header: {
    contexts: CONTEXTS,
    args: header,
    into: 'headers',
    repeat: 'append',
    inherit: 'nameless',
    summary: 'Adds a header to each response of the location.',
    source: `${SOURCE}#echoz_header`,
  },
});

const SENDING: ReadonlySet<Step['kind']> = new Set(['text', 'duplicate', 'flush', 'body']);

/** Checks that no text is sent before a redirect, and that nothing follows it. */
export function validate({ steps = [] }: EchozConfig, report: ConfigReport<EchozConfig>): void {
  const index = steps.findIndex(({ kind }) => kind === 'redirect');
  if (index < 0) return;
  if (steps.slice(0, index).some(({ kind }) => SENDING.has(kind)))
    report.phrase('steps', '"echoz_exec" comes after text that is sent', { index });
  if (index < steps.length - 1)
    report.phrase('steps', 'directives after "echoz_exec" are never carried out', { index: index + 1 });
}
