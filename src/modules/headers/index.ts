import type { Word } from '../../../grammar/index.ts';
import { directivesFor, readers } from '../../config/index.ts';
import type { ArgReader, ComplexValue } from '../../config/index.ts';
import { moduleFor } from '../../contract/index.ts';
import type { Build } from '../../contract/index.ts';
import { isSafeHeaderName } from '../../http/index.ts';
import type { Exchange, HeaderFilter } from '../../http/index.ts';

/** `add_header name value [always]`. */
interface AddedHeader {
  readonly name: string;
  readonly value: ComplexValue;
  readonly always: boolean;
}

interface HeadersConfig {
  readonly added?: readonly AddedHeader[];
}

/** Without `always`, nginx adds headers to these answers only. */
const GOOD_STATUSES: ReadonlySet<number> = new Set([200, 201, 204, 206, 301, 302, 303, 304, 307, 308]);

/** Headers that say where an answer ends: a second one would desynchronise the connection. */
const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);

const addedHeader: ArgReader<AddedHeader> = readers.words(
  { syntax: 'name value [always]', min: 2, max: 3 },
  (words, scope) => {
    const [name, value, always] = words as [Word, Word, Word?];
    if (!isSafeHeaderName(name.value)) {
      scope.report.emerg(`invalid header name "${name.value}"`, name.span);
      return undefined;
    }
    if (FRAMING.has(name.value.toLowerCase())) {
      const message = `"add_header" cannot set "${name.value}": it frames the answer`;
      scope.report.emerg(message, name.span);
      return undefined;
    }
    if (always && always.value !== 'always') {
      scope.report.emerg(`invalid parameter "${always.value}"`, always.span, 'expected "always"');
      return undefined;
    }
    return { name: name.value, value: scope.complexValue(value), always: always !== undefined };
  },
);

const directives = directivesFor<HeadersConfig>()({
  add_header: {
    contexts: ['http', 'server', 'location', 'location if'],
    args: addedHeader,
    into: 'added',
    repeat: 'append',
    summary: 'Adds a header to good answers, with "always" to every answer.',
    source: 'nginx ngx_http_headers_module#add_header',
  },
});

/** Response headers that the configuration adds. */
export const headers = moduleFor<HeadersConfig>()({
  name: 'headers',
  directives,
  enabled: ({ added }) => added !== undefined,
  compile: ({ added = [] }, _resources, build) => ({
    filter: allOf(added.map((header) => compileAdded(header, build))),
  }),
});

function allOf(filters: readonly HeaderFilter[]): HeaderFilter {
  if (filters.length === 1) return filters[0] as HeaderFilter;
  return (x) => {
    for (const filter of filters) filter(x);
  };
}

/** An empty value leaves the header out (nginx). */
function compileAdded({ name, value, always }: AddedHeader, build: Build): HeaderFilter {
  const render = build.value(value);
  const add = (x: Exchange): void => {
    const rendered = render(x);
    if (rendered !== '') x.setHeader(name, rendered);
  };
  return always ? add : (x) => (GOOD_STATUSES.has(x.status) ? add(x) : undefined);
}
