import type { Build, WorkerScope } from '../../contract/index.ts';
import type { StaticConfig } from './config.ts';
import { FRESH_FILES } from './files.ts';
import type { Files } from './files.ts';
import { HttpDates } from './http-date.ts';
import { OpenFileCache } from './open-file-cache.ts';
import { PieceBuffers } from './piece-buffers.ts';
import { guardedFiles } from './symlinks.ts';

/** What locations of one worker share. */
export interface StaticResources {
  readonly dates: HttpDates;
  readonly buffers: PieceBuffers;
  readonly files: Files;
}

/** Locations with the same rules share a cache, and a reload keeps it. */
export function openResources(config: StaticConfig, worker: WorkerScope): StaticResources {
  const nothing = (): void => undefined;
  return {
    dates: worker.share('static: dates', () => new HttpDates(), nothing),
    buffers: worker.share('static: buffers', () => new PieceBuffers(), nothing),
    files: openCache(config, worker) ?? FRESH_FILES,
  };
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

/** The files of one location. Paths that may not have links are walked for every request, whatever is remembered of them. */
export function filesOf(
  { disableSymlinks: { rule, from } }: StaticConfig,
  files: Files,
  build: Build,
): Files {
  if (rule === 'off') return files;
  return guardedFiles({ sameOwner: rule === 'if_not_owner', from: from ? build.value(from) : () => '' });
}
