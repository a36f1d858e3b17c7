import { directivesFor, pathFrom } from '../../../config/index.ts';
import type { CoreConfig } from '../../../contract/index.ts';
import { alias, root } from '../document-root.ts';

/** Where the files of a location are. */
export const files = directivesFor<CoreConfig>()({
  root: {
    contexts: ['http', 'server', 'location', 'location if'],
    args: root,
    into: 'documentRoot',
    defaultText: 'html',
    summary: 'Directory that URIs are paths below, relative to the prefix.',
    roles: pathFrom('prefix'),
    source: 'nginx ngx_http_core_module#root',
  },
  alias: {
    contexts: ['location'],
    args: alias,
    into: 'documentRoot',
    summary: 'Path that takes the place of the location in a URI; the whole path in a regex location.',
    roles: pathFrom('prefix'),
    source: 'nginx ngx_http_core_module#alias',
  },
});
