import { moduleFor } from '../../contract/index.ts';
import type { Build, LocationParts } from '../../contract/index.ts';
import { compileFileAnswer, compileValidators } from './answer-file.ts';
import { compileAutoindex } from './autoindex/index.ts';
import type { StaticConfig } from './config.ts';
import { compileContent } from './content.ts';
import { directives } from './directives.ts';
import { compileDocumentPath } from './document-path.ts';
import { compileEmptyGif } from './empty-gif.ts';
import { Faults } from './faults.ts';
import { compileIndex } from './index-file.ts';
import { compileRandomIndex } from './random-index.ts';
import { filesOf, openResources } from './resources.ts';
import type { StaticResources } from './resources.ts';
import { FileSender } from './send-file.ts';
import { compileServeFile } from './serve-file.ts';
import { CAN_WALK } from './symlinks.ts';
import { compileTryFiles } from './try-files.ts';
import { variables } from './variables.ts';

/** nginx's static files: the last of all modules, for it answers every location that nobody else does. */
export const staticFiles = moduleFor<StaticConfig>()<StaticResources>({
  name: 'static',
  directives,
  variables,
  content: 'emptyGif',
  validate({ disableSymlinks }, report) {
    if (disableSymlinks.rule !== 'off' && !CAN_WALK)
      report.on('disableSymlinks', 'is not supported on this platform');
  },
  provision: openResources,
  compile: compileStatic,
});

function compileStatic(config: StaticConfig, resources: StaticResources, build: Build): LocationParts {
  const { dates, buffers, files } = resources;
  const site = {
    paths: compileDocumentPath(build),
    files: filesOf(config, files, build),
    faults: new Faults(build, config),
  };
  const validators = compileValidators(config, dates, build);
  const precontent = config.tryFiles && { precontent: compileTryFiles(config.tryFiles, site, build) };
  if (config.emptyGif) return { ...precontent, content: compileEmptyGif(validators) };
  const sender = new FileSender(buffers, build.log);
  const content = compileContent(
    {
      indexes: [
        ...(config.randomIndex ? [compileRandomIndex(site)] : []),
        compileIndex(config.index, site, build),
      ],
      autoindex: config.autoindex ? compileAutoindex(config, site) : undefined,
      file: compileServeFile(site, compileFileAnswer(config, { validators, sender }, build)),
    },
    site,
  );
  return { ...precontent, content };
}
