import { moduleFor } from '../../contract/index.ts';
import type { CoreConfig } from '../../contract/index.ts';
import { directives } from './directives/index.ts';
import { families, variables } from './variables/index.ts';

/** nginx's core: structure, sockets, limits, error pages. The plan and compile stages act on its config themselves. */
export const core = moduleFor<CoreConfig>()({
  name: 'core',
  directives,
  variables,
  families,
  writes: ({ errorLogs = [], bodyTempPath }) => ({
    files: errorLogs.flatMap((log) => ('path' in log && log.path !== 'stderr' ? log.path : [])),
    directories: bodyTempPath ? [bodyTempPath.path] : [],
  }),
  compile: () => ({}),
});
