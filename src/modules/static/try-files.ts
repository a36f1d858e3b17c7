import { constantText } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import type { Exchange, Handler } from '../../http/index.ts';
import type { TriedFile, TryFilesConfig } from './directives.ts';
import { isAbsent, isFault } from './files.ts';
import type { Site } from './site.ts';

/**
 * Compiles `try_files`: the first file that exists becomes `$uri`, otherwise the last parameter decides (nginx:
 * ngx_http_try_files_handler). If an alias replaces the location, its path is removed only from names with variables,
 * as in nginx.
 */
export function compileTryFiles({ files, fallback }: TryFilesConfig, site: Site, build: Build): Handler {
  const tests = files.map((file) => compileTest(file, site, build));
  const finish = compileFallback(fallback, site, build);
  return (x) => {
    if (site.paths.isLost(x)) return site.faults.unsafe(x);
    return tests.some((isThere) => isThere(x)) ? undefined : finish(x);
  };
}

/** Compiles the test for one file; if it exists, it becomes the URI. */
function compileTest(
  { name, isDirectory, hasVariables }: TriedFile,
  { paths, files, faults }: Site,
  build: Build,
): (x: Exchange) => boolean {
  const render = build.value(name);
  return (x) => {
    const rest = hasVariables ? paths.rest(render(x)) : render(x);
    const path = paths.ofRest(x, rest);
    if (path === undefined) return false;
    const outcome = files.look(path, x);
    if (isFault(outcome)) {
      if (!isAbsent(outcome)) faults.note(x, path, { ...outcome, level: 'crit' });
      return false;
    }
    if ((outcome.kind === 'directory') !== isDirectory) return false;
    x.uri = paths.uriOf(x, { rest, isDirectory });
    return true;
  };
}

/** Compiles the last parameter: an internal redirect, whose query replaces that of the request. */
function compileFallback(
  fallback: TryFilesConfig['fallback'],
  { paths, faults }: Site,
  build: Build,
): Handler {
  if ('code' in fallback) return fallback.code === 444 ? (x) => x.abort() : (x) => x.end(fallback.code);
  const { target, hasVariables } = fallback;
  const fixed = constantText(target);
  if (fixed?.startsWith('@')) return (x) => x.redirectInternally(fixed);
  const render = build.value(target);
  return (x) => {
    const uri = hasVariables ? paths.rest(render(x)) : render(x);
    if (uri.startsWith('@')) return x.redirectInternally(uri);
    // Without a leading slash, the URI would name a file beside the root.
    if (!uri.startsWith('/')) return faults.unsafe(x);
    x.args = '';
    return x.redirectInternally(uri);
  };
}
