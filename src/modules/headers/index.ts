import type { Word } from '../../../grammar/index.ts';
import { directivesFor, isTellingHeader, readers } from '../../config/index.ts';
import { moduleFor } from '../../contract/index.ts';
import type { HeaderFilter } from '../../http/index.ts';
import {
  addedDate,
  addedHeader,
  type AddedHeader,
  compileAdded,
  compileTrailers,
  findTrailer,
} from './added.ts';
import { compileExpires, expires, type Expires } from './expires.ts';

/** `on`: a level with headers of its own drops those of the outer level. */
type HeaderInheritance = 'on' | 'off' | 'merge';

interface HeadersConfig {
  readonly added?: readonly AddedHeader[];
  readonly trailers?: readonly AddedHeader[];
  readonly addedInherit: HeaderInheritance;
  readonly trailersInherit: HeaderInheritance;
  readonly expires?: Expires;
}

const CONTEXTS = ['http', 'server', 'location', 'location if'] as const;

const tells = ([name]: readonly Word[]): boolean => isTellingHeader(name?.value ?? '');

/** nginx's headers module. */
const directives = directivesFor<HeadersConfig>()({
  add_header: {
    contexts: CONTEXTS,
    args: addedHeader,
    into: 'added',
    repeat: 'append',
    inheritBy: 'addedInherit',
    summary: 'Adds a header to successful responses and redirects, with "always" to all responses.',
    tells,
    source: 'nginx ngx_http_headers_module#add_header',
  },
  add_header_inherit: {
    contexts: CONTEXTS,
    args: readers.oneOf('on', 'off', 'merge'),
    into: 'addedInherit',
    default: 'on',
    summary:
      'Whether headers of the outer level are inherited: only if this level has none, never, or in addition to its own.',
    source: 'nginx ngx_http_headers_module#add_header_inherit',
  },
  add_trailer: {
    contexts: CONTEXTS,
    args: addedHeader,
    into: 'trailers',
    repeat: 'append',
    inheritBy: 'trailersInherit',
    summary:
      'Adds a trailer to successful responses and redirects, with "always" to all responses; on the node engine only.',
    tells,
    source: 'nginx ngx_http_headers_module#add_trailer',
  },
  add_trailer_inherit: {
    contexts: CONTEXTS,
    args: readers.oneOf('on', 'off', 'merge'),
    into: 'trailersInherit',
    default: 'on',
    summary: 'As `add_header_inherit`, for trailers.',
    source: 'nginx ngx_http_headers_module#add_trailer_inherit',
  },
  expires: {
    contexts: CONTEXTS,
    args: expires,
    into: 'expires',
    defaultText: 'off',
    summary: 'Sets `Expires` and `Cache-Control` of successful responses and redirects.',
    source: 'nginx ngx_http_headers_module#expires',
  },
});

/** Response headers that the configuration adds (nginx ngx_http_headers_module). */
export const headers = moduleFor<HeadersConfig>()({
  name: 'headers',
  summary: 'Headers, trailers and lifetimes of responses.',
  directives,
  enabled: ({ added, trailers, expires }) => (added ?? trailers ?? expires) !== undefined,
  families: {
    sent_trailer_: {
      summary: 'A trailer of the response.',
      compile: (rest) => (x) => findTrailer(x, rest.replaceAll('_', '-')),
    },
  },
  compile({ added = [], trailers = [], expires }, _resources, build) {
    const expiry = expires && compileExpires(expires, build);
    const adding = added.map((header) => compileAdded(header, build));
    const filters = [expiry ?? [], adding, compileTrailers(trailers, build) ?? []].flat();
    const modified = addedDate(added, build);
    return filters.length > 0 ? { filter: allOf(filters), ...(modified && { ranges: { modified } }) } : {};
  },
  rules: () => import('./rules.ts'),
});

/** Applies all filters, but not to subrequests, whose headers are not sent. */
function allOf(filters: readonly HeaderFilter[]): HeaderFilter {
  return (x) => {
    if (x.main !== x) return;
    for (const filter of filters) filter(x);
  };
}
