import { directivesFor, readers } from '../../../config/index.ts';
import type { CoreConfig } from '../../../contract/index.ts';

/** What is said of variables. */
export const variables = directivesFor<CoreConfig>()({
  uninitialized_variable_warn: {
    contexts: ['http', 'server', 'location', 'server if', 'location if'],
    args: readers.flag,
    into: 'uninitializedVariableWarn',
    default: true,
    summary: 'Warns in the error log when a variable is read that no "set" has filled yet.',
    source: 'nginx ngx_http_rewrite_module#uninitialized_variable_warn',
  },
});
