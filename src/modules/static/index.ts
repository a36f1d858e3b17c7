import {
  type Build,
  type ExplainedAction,
  type ExplainedFact,
  type LocationParts,
  type ModuleExplanation,
  moduleFor,
  type WorkerScope,
} from '../../contract/index.ts';
import { acceptsCoding, type Exchange, type Handler } from '../../http/index.ts';
import { FileSender, PieceBuffers } from '../../bodies/index.ts';
import {
  type ApplyValidators,
  compileEmptyGif,
  compileFileResponse,
  type FileResponse,
  compileValidators,
} from './file-response.ts';
import { compileAutoindex } from './autoindex.ts';
import {
  compileContent,
  compilePrecompressed,
  compileIndex,
  compileRandomIndex,
  compileServeFile,
} from './content.ts';
import { directives, type StaticConfig, type TriedFile } from './directives.ts';
import { compileDocumentPath, type DocumentPath, variables } from './document-path.ts';
import { type Files, FRESH_FILES, isFault } from './files.ts';
import { KeptContent } from './kept-content.ts';
import { OpenFileCache } from './open-file-cache.ts';
import { FileFaults, type Site } from './site.ts';
import { CAN_WALK, guardedFiles } from './symlinks.ts';
import { compileTryFiles } from './try-files.ts';

/** The resources that the locations of one worker share. */
interface StaticResources {
  readonly buffers: PieceBuffers;
  readonly files: Files;
}

/** Locations with the same rules share a cache, and it is kept across reloads. */
function openResources(config: StaticConfig, worker: WorkerScope): StaticResources {
  const nothing = (): void => undefined;
  return {
    buffers: worker.share('static: buffers', () => new PieceBuffers(), nothing),
    files: openCache(config, worker) ?? openKeptContent(worker),
  };
}

function openKeptContent(worker: WorkerScope): Files {
  return worker.share(
    'static: content',
    () => new KeptContent(),
    (kept) => kept.close(),
  );
}

function openCache(config: StaticConfig, worker: WorkerScope): Files | undefined {
  const { openFileCache } = config;
  if (openFileCache === 'off') return undefined;
  const rules = {
    ...openFileCache,
    validMs: config.openFileCacheValidMs,
    minUses: config.openFileCacheMinUses,
    errors: config.openFileCacheErrors,
  };
  return worker.share(
    `static: open_file_cache ${JSON.stringify(rules)}`,
    () => new OpenFileCache(FRESH_FILES, rules),
    (cache) => cache.close(),
  );
}

/**
 * Gives access to the files of one location. If symbolic links are restricted, paths are checked for every request,
 * bypassing the cache.
 */
function filesOf({ disableSymlinks: { rule, from } }: StaticConfig, files: Files, build: Build): Files {
  if (rule === 'off') return files;
  return guardedFiles({ sameOwner: rule === 'if_not_owner', from: from ? build.value(from) : () => '' });
}

/** Looks up files on disk as usual and explains which paths were tried. */
const explanation: ModuleExplanation<StaticConfig, StaticResources> = {
  runs: true,
  explain(config, _resources, build) {
    const paths = compileDocumentPath(build);
    const { tryFiles } = config;
    return {
      ...(tryFiles && { precontent: tellTries(tryFiles.files, paths, build) }),
      ...(!config.emptyGif && { content: tellFile(config, paths, build) }),
    };
  },
};

function tellTries(
  files: readonly TriedFile[],
  paths: DocumentPath,
  build: Build,
): (x: Exchange) => ExplainedAction {
  const tries = files.map(({ name, ...rest }) => ({ ...rest, render: build.value(name) }));
  return (x) => {
    const facts: ExplainedFact[] = [];
    for (const { render, isDirectory, hasVariables } of tries) {
      const rest = hasVariables ? paths.rest(render(x)) : render(x);
      const found = look(paths.ofRest(x, rest), x);
      const fits = found.kind === (isDirectory ? 'directory' : 'file');
      const wanted = isDirectory ? 'directory' : 'file';
      facts.push({ label: fits ? 'found' : 'tried', value: `${wanted} ${found.text}` });
      if (fits) return { does: 'finds a file', facts };
    }
    return { does: 'finds none of its files: the last parameter decides', facts };
  };
}

function tellFile(
  { index }: StaticConfig,
  paths: DocumentPath,
  build: Build,
): (x: Exchange) => ExplainedAction {
  const names = index.flat().map((name) => build.value(name));
  return (x) => {
    if (!x.uri.endsWith('/')) {
      const { kind, text } = look(paths.of(x, x.uri), x);
      return { does: DOES[kind ?? ''] ?? 'finds no file', facts: [{ label: 'file', value: text }] };
    }
    const facts: ExplainedFact[] = [];
    for (const render of names) {
      const name = render(x);
      const found = look(paths.of(x, x.uri + name), x);
      facts.push({ label: 'index', value: found.text });
      if (found.kind !== undefined) break;
    }
    return { does: 'looks for an index of the directory', facts };
  };
}

const DOES: Readonly<Record<string, string>> = {
  file: 'sends a file',
  directory: 'redirects to the directory with a slash behind',
};

interface LookResult {
  readonly kind: string | undefined;
  readonly text: string;
}

function look(path: string | undefined, x: Exchange): LookResult {
  if (path === undefined) return { kind: undefined, text: '(outside of the root)' };
  const found = FRESH_FILES.look(path, x);
  if (isFault(found)) return { kind: undefined, text: `${path}  (${reasonOf(found.error)})` };
  const what = found.kind === 'file' ? `${found.sizeBytes} bytes` : found.kind;
  return { kind: found.kind, text: `${path}  (${what})` };
}

function reasonOf({ code }: NodeJS.ErrnoException): string {
  return code === 'ENOENT' || code === 'ENOTDIR' ? 'not there' : (code ?? 'cannot be looked at');
}

/** nginx's static files. It is the last of all modules because it serves every location that has no other content handler. */
export const staticFiles = moduleFor<StaticConfig>()<StaticResources>({
  name: 'static',
  summary: 'Serves files and lists directories.',
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
  rules: () => import('./rules.ts'),
});

function compileStatic(config: StaticConfig, resources: StaticResources, build: Build): LocationParts {
  const { buffers, files } = resources;
  const site = {
    paths: compileDocumentPath(build),
    files: filesOf(config, files, build),
    faults: new FileFaults(build, config),
  };
  const validators = compileValidators(build);
  const precontent = config.tryFiles && { precontent: compileTryFiles(config.tryFiles, site, build) };
  if (config.emptyGif) return { ...precontent, content: compileEmptyGif(validators) };
  return { ...precontent, content: compileFiles(config, { site, validators, buffers }, build) };
}

interface Parts {
  readonly site: Site;
  readonly validators: ApplyValidators;
  readonly buffers: PieceBuffers;
}

function compileFiles(config: StaticConfig, { site, validators, buffers }: Parts, build: Build): Handler {
  const sender = new FileSender(buffers, build.log);
  const plain = compileServeFile(site, compileFileResponse(config, { validators, sender }, build));
  const packed = compileFileResponse(config, { validators, sender, ranges: false }, build);
  const index = compileIndex(config.index.flat(), site, build);
  return compileContent(
    {
      indexes: config.randomIndex ? [compileRandomIndex(site), index] : [index],
      autoindex: config.autoindex ? compileAutoindex(config, site) : undefined,
      file: compileFile(config, { site, plain, packed }, build),
    },
    site,
  );
}

interface FileHandlers {
  readonly site: Site;
  readonly plain: Handler;
  readonly packed: FileResponse;
}

/** Compiles the handler of a file. It looks for a precompressed file first: Brotli, then gzip. */
function compileFile(
  { gzipStatic, brotliStatic }: StaticConfig,
  { site, plain, packed: respond }: FileHandlers,
  build: Build,
): Handler {
  let handler = plain;
  if (gzipStatic !== 'off') {
    const accepts = build.acceptsGzip();
    const gzip = { mode: gzipStatic, coding: 'gzip', extension: '.gz', accepts } as const;
    handler = compilePrecompressed({ ...gzip, respond, plain: handler }, site, build);
  }
  if (brotliStatic !== 'off') {
    build.needHeader('accept-encoding');
    const accepts = (x: Exchange): boolean =>
      x.main === x && acceptsCoding(x.header('accept-encoding') ?? '', 'br');
    const brotli = { mode: brotliStatic, coding: 'br', extension: '.br', accepts } as const;
    handler = compilePrecompressed({ ...brotli, respond, plain: handler }, site, build);
  }
  return handler;
}
