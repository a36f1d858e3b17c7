import { moduleFor } from '../../contract/index.ts';
import type { HeaderFilter } from '../../http/index.ts';
import { compileAdded } from './added.ts';
import { compileTrailers, findTrailer } from './trailers.ts';
import { directives } from './directives.ts';
import type { HeadersConfig } from './directives.ts';
import { compileExpires } from './expires.ts';

/** Response headers that the configuration adds (nginx ngx_http_headers_module). */
export const headers = moduleFor<HeadersConfig>()({
  name: 'headers',
  directives,
  enabled: ({ added, trailers, expires }) => (added ?? trailers ?? expires) !== undefined,
  families: {
    sent_trailer_: {
      summary: 'A trailer of the answer.',
      compile: (rest) => (x) => findTrailer(x, rest.replaceAll('_', '-')),
    },
  },
  compile({ added = [], trailers = [], expires }, _resources, build) {
    const expiry = expires && compileExpires(expires, build);
    const adding = added.map((header) => compileAdded(header, build));
    const filters = [expiry ?? [], adding, compileTrailers(trailers, build) ?? []].flat();
    return filters.length > 0 ? { filter: allOf(filters) } : {};
  },
});

/** Answers to subrequests are only parts of one: nobody sees their headers. */
function allOf(filters: readonly HeaderFilter[]): HeaderFilter {
  return (x) => {
    if (x.main !== x) return;
    for (const filter of filters) filter(x);
  };
}
