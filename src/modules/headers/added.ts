import type { Word } from '../../../grammar/index.ts';
import { type ArgReader, type ComplexValue, readers } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import {
  cleanHeaderValue,
  type Exchange,
  type HeaderFilter,
  isSafeHeaderName,
  isSafeHeaderValue,
  parseHttpDate,
} from '../../http/index.ts';

/** `add_header name value [always]` and `add_trailer`. */
export interface AddedHeader {
  readonly name: string;
  readonly value: ComplexValue;
  readonly always: boolean;
}

/** Without `always`, nginx adds headers to responses with these statuses only. */
const GOOD_STATUSES: ReadonlySet<number> = new Set([200, 201, 204, 206, 301, 302, 303, 304, 307, 308]);

/** Headers that frame a response: a second one would desynchronize the connection. */
const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);

/** Headers that a response has only once: adding one replaces it, and an empty value removes it (nginx). */
const SINGLE: ReadonlySet<string> = new Set(['etag', 'last-modified']);

/** Reads the arguments of `add_header` and `add_trailer`. */
export const addedHeader: ArgReader<AddedHeader> = readers.words(
  { syntax: 'name value [always]', min: 2, max: 3 },
  (words, scope) => {
    const [name, value, always] = words as [Word, Word, Word?];
    if (!isSafeHeaderName(name.value)) {
      scope.report.emerg(`invalid header name "${name.value}"`, name.span);
      return undefined;
    }
    if (FRAMING.has(name.value.toLowerCase())) {
      // A warning only, since `add_header Content-Length 0` beside `return 204` is widespread.
      const message = `"${scope.directive}" does not set "${name.value}", which frames the response, ignored`;
      scope.report.warn(message, name.span, { rule: 'ignored-directive' });
      return undefined;
    }
    if (always && always.value !== 'always') {
      scope.report.emerg(`invalid parameter "${always.value}"`, always.span, 'expected "always"');
      return undefined;
    }
    return { name: name.value, value: scope.complexValue(value), always: always !== undefined };
  },
);

/** Tells whether headers without `always` are added to this response. */
export function isGood(x: Exchange): boolean {
  return GOOD_STATUSES.has(x.status);
}

/** Compiles the value of a header as one line; the header is left out if it is ''. */
function compileText(name: string, value: ComplexValue, build: Build): (x: Exchange) => string {
  const render = build.value(value);
  if (!isStored(value)) return (x) => cleanHeaderValue(render(x));
  return (x) => {
    const text = render(x);
    if (isSafeHeaderValue(text)) return text;
    x.writeLog(`header "${name}" is dropped: control character in its value`);
    return '';
  };
}

/** Tells whether a value comes from Redis. Blanks in place of bytes would make it another value. */
function isStored({ parts }: ComplexValue): boolean {
  return parts.some(
    (part) => typeof part === 'object' && 'variable' in part && part.variable.startsWith('kv_'),
  );
}

/** Compiles one header; with an empty value it is not added (nginx). */
export function compileAdded({ name, value, always }: AddedHeader, build: Build): HeaderFilter {
  const render = compileText(name, value, build);
  const isSingle = SINGLE.has(name.toLowerCase());
  const add = (x: Exchange): void => {
    const rendered = render(x);
    if (isSingle) x.response.removeHeader(name);
    if (rendered !== '') x.response.setKnownHeader(name, rendered);
  };
  return always ? add : (x) => (isGood(x) ? add(x) : undefined);
}

/** Returns the date of a `Last-Modified` that is added to every range: `If-Range` is compared with it (nginx). */
export function addedDate(
  added: readonly AddedHeader[],
  build: Build,
): ((x: Exchange) => number | undefined) | undefined {
  const last = added.findLast(({ name }) => name.toLowerCase() === 'last-modified');
  if (!last) return undefined;
  const render = build.value(last.value);
  return (x) => parseHttpDate(render(x)) ?? NaN;
}

/**
 * Compiles trailers. They follow those of an upstream, and are evaluated at the end of the response; one that reads
 * another trailer sees those before it (nginx).
 */
export function compileTrailers(trailers: readonly AddedHeader[], build: Build): HeaderFilter | undefined {
  if (trailers.length === 0) return undefined;
  const compiled = trailers.map(({ name, value, always }) => ({
    name,
    always,
    render: compileText(name, value, build),
  }));
  return (x) => {
    const wanted = isGood(x) ? compiled : compiled.filter(({ always }) => always);
    if (wanted.length === 0) return;
    const passed = x.response.trailers;
    const evaluate = (): readonly string[] => {
      const fields = [...(passed?.() ?? [])];
      x.response.trailers = () => fields;
      try {
        for (const { name, render } of wanted) {
          const value = render(x);
          if (value !== '') fields.push(name, value);
        }
      } finally {
        x.response.trailers = evaluate;
      }
      return fields;
    };
    x.response.trailers = evaluate;
  };
}

/** Returns the values of a trailer, in one list, by its name in lower case. */
export function findTrailer(x: Exchange, name: string): string | undefined {
  const fields = x.response.trailers?.() ?? [];
  const values = fields.filter((_, index) => index % 2 === 1 && fields[index - 1]?.toLowerCase() === name);
  return values.length === 0 ? undefined : values.join(', ');
}
