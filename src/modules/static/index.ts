import { moduleFor } from '../../contract/index.ts';
import type { Build, LocationParts } from '../../contract/index.ts';
import type { Handler } from '../../http/index.ts';
import { compileFileAnswer, compileValidators } from './answer-file.ts';
import type { ValidatorsOf } from './answer-file.ts';
import { compileAutoindex } from './autoindex/index.ts';
import type { StaticConfig } from './config.ts';
import { compileContent } from './content.ts';
import { directives } from './directives.ts';
import { compileDocumentPath } from './document-path.ts';
import { compileEmptyGif } from './empty-gif.ts';
import { explanation } from './explanation.ts';
import { Faults } from './faults.ts';
import { compileGzipStatic } from './gzip-static.ts';
import { compileIndex } from './index-file.ts';
import type { PieceBuffers } from './piece-buffers.ts';
import { compileRandomIndex } from './random-index.ts';
import { filesOf, openResources } from './resources.ts';
import type { StaticResources } from './resources.ts';
import { FileSender } from './send-file.ts';
import { compileServeFile } from './serve-file.ts';
import type { Site } from './site.ts';
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
  explanation,
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
  return { ...precontent, content: compileFiles(config, { site, validators, buffers }, build) };
}

interface Parts {
  readonly site: Site;
  readonly validators: ValidatorsOf;
  readonly buffers: PieceBuffers;
}

function compileFiles(config: StaticConfig, { site, validators, buffers }: Parts, build: Build): Handler {
  const sender = new FileSender(buffers, build.log);
  const plain = compileServeFile(site, compileFileAnswer(config, { validators, sender }, build));
  const mode = config.gzipStatic;
  const packed = { validators, sender, ranges: false } as const;
  const index = compileIndex(config.index.flat(), site, build);
  return compileContent(
    {
      indexes: config.randomIndex ? [compileRandomIndex(site), index] : [index],
      autoindex: config.autoindex ? compileAutoindex(config, site) : undefined,
      file:
        mode === 'off'
          ? plain
          : compileGzipStatic({ mode, plain, answer: compileFileAnswer(config, packed, build) }, site, build),
    },
    site,
  );
}
