import type { Build } from '../../contract/index.ts';
import type { Exchange, Handler } from '../../http/index.ts';
import type { FileAnswer } from './answer-file.ts';
import { isFault } from './files.ts';
import type { Site } from './site.ts';
import { isAbsent, severityOf } from './system-error.ts';

/** What takes over where there is no file in gzip, or the client does not take it. */
interface GzipStaticParts {
  readonly mode: 'on' | 'always';
  readonly answer: FileAnswer;
  readonly plain: Handler;
}

/** `gzip_static`: a file in gzip beside the plain one is sent in its place (nginx: ngx_http_gzip_static_handler). */
export function compileGzipStatic(
  { mode, answer, plain }: GzipStaticParts,
  { paths, files, faults }: Site,
  build: Build,
): Handler {
  const accepts = mode === 'always' ? (): boolean => true : build.acceptsGzip();
  const varies = build.core.gzipVary && mode === 'on';
  return (x: Exchange) => {
    if (x.method !== 'GET' && x.method !== 'HEAD') return plain(x);
    const isAccepted = accepts(x);
    const path = paths.of(x, x.uri);
    if (path === undefined || (!isAccepted && !varies)) return plain(x);
    const file = files.open(`${path}.gz`, x);
    if (isFault(file)) {
      if (!isAbsent(file)) faults.note(x, `${path}.gz`, { ...file, level: severityOf(file).level });
      return plain(x);
    }
    if (varies) x.setHeader('Vary', 'Accept-Encoding');
    if (isAccepted && file.kind === 'file') {
      x.setHeader('Content-Encoding', 'gzip');
      return answer(x, file, `${path}.gz`);
    }
    const { kind } = file;
    file.release();
    return isAccepted && kind === 'other' ? faults.notRegular(x, `${path}.gz`) : plain(x);
  };
}
