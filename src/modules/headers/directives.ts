import { directivesFor, readers } from '../../config/index.ts';
import { addedHeader } from './added.ts';
import type { AddedHeader } from './added.ts';
import { expires } from './expires.ts';
import type { Expires } from './expires.ts';

/** `on`: a level with headers of its own drops those of the level above. */
export type HeaderInheritance = 'on' | 'off' | 'merge';

export interface HeadersConfig {
  readonly added?: readonly AddedHeader[];
  readonly trailers?: readonly AddedHeader[];
  readonly addedInherit: HeaderInheritance;
  readonly trailersInherit: HeaderInheritance;
  readonly expires?: Expires;
}

const CONTEXTS = ['http', 'server', 'location', 'location if'] as const;

/** nginx's headers module. */
export const directives = directivesFor<HeadersConfig>()({
  add_header: {
    contexts: CONTEXTS,
    args: addedHeader,
    into: 'added',
    repeat: 'append',
    inheritBy: 'addedInherit',
    summary: 'Adds a header to good answers, with "always" to every answer.',
    source: 'nginx ngx_http_headers_module#add_header',
  },
  add_header_inherit: {
    contexts: CONTEXTS,
    args: readers.oneOf('on', 'off', 'merge'),
    into: 'addedInherit',
    default: 'on',
    summary:
      'Whether headers of the level above come down: where there are none here, never, or besides those here.',
    source: 'nginx ngx_http_headers_module#add_header_inherit',
  },
  add_trailer: {
    contexts: CONTEXTS,
    args: addedHeader,
    into: 'trailers',
    repeat: 'append',
    inheritBy: 'trailersInherit',
    summary:
      'Adds a field behind the body of good answers, with "always" to every answer; the node engine alone can send it.',
    source: 'nginx ngx_http_headers_module#add_trailer',
  },
  add_trailer_inherit: {
    contexts: CONTEXTS,
    args: readers.oneOf('on', 'off', 'merge'),
    into: 'trailersInherit',
    default: 'on',
    summary: 'The same for trailers as `add_header_inherit` for headers.',
    source: 'nginx ngx_http_headers_module#add_trailer_inherit',
  },
  expires: {
    contexts: CONTEXTS,
    args: expires,
    into: 'expires',
    defaultText: 'off',
    summary: 'Sets `Expires` and `Cache-Control` of good answers.',
    source: 'nginx ngx_http_headers_module#expires',
  },
});
