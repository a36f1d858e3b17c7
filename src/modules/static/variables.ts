import { realpathSync } from 'node:fs';
import type { ModuleDefinition } from '../../contract/index.ts';
import { compileDocumentPath } from './document-path.ts';
import type { StaticConfig } from './config.ts';

/** Variables that say where the files of a location are. */
export const variables: NonNullable<ModuleDefinition<StaticConfig>['variables']> = {
  document_root: {
    summary: 'What `root` or `alias` of the location say.',
    compile: (build) => compileDocumentPath(build).root,
  },
  realpath_root: {
    summary: 'The same as an absolute path without symbolic links.',
    compile: (build) => {
      const { root } = compileDocumentPath(build);
      return (x) => {
        try {
          return realpathSync(root(x));
        } catch {
          return undefined;
        }
      };
    },
  },
  request_filename: {
    summary: 'Path of the file that `$uri` leads to.',
    compile: (build) => {
      const { of } = compileDocumentPath(build);
      return (x) => of(x, x.uri);
    },
  },
};
