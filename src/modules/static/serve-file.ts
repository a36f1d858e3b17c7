import { encodePath } from '../../http/index.ts';
import type { Exchange, Handler } from '../../http/index.ts';
import type { FileAnswer } from './answer-file.ts';
import { isFault } from './files.ts';
import type { Site } from './site.ts';

/** Serves the file that `$uri` names (nginx: ngx_http_static_handler). */
export function compileServeFile({ paths, files, faults }: Site, answer: FileAnswer): Handler {
  return (x) => {
    if (!mayRead(x)) return x.end(405);
    const path = paths.of(x, x.uri);
    if (path === undefined) return faults.unsafe(x);
    const file = files.open(path, x);
    if (isFault(file)) return faults.answer(x, path, file);
    if (file.kind === 'file' && x.method !== 'POST') return answer(x, file, path);
    file.release();
    if (file.kind === 'directory') return redirectToDirectory(x);
    return file.kind === 'file' ? x.end(405) : faults.notRegular(x, path);
  };
}

/** Methods that nginx looks for a file for; POST finds it and may not read it. */
export function mayRead({ method }: Exchange): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'POST';
}

function redirectToDirectory(x: Exchange): void {
  x.redirect(301, `${encodePath(x.uri)}/${x.args === '' ? '' : `?${x.args}`}`);
}
