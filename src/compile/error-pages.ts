import type { Build, ErrorPageConfig } from '../contract/index.ts';
import type { Exchange, Handler } from '../http/index.ts';

const REDIRECTS: ReadonlySet<unknown> = new Set([301, 302, 303, 307, 308]);

/** `error_page` of one location: by status, what serves it. The first directive that names a status wins (nginx). */
export function compileErrorPages(
  pages: readonly ErrorPageConfig[] | undefined,
  build: Build,
): ReadonlyMap<number, Handler> | undefined {
  if (!pages) return undefined;
  const handlers = new Map<number, Handler>();
  for (const page of pages) {
    const handler = compilePage(page, build);
    for (const code of page.codes) if (!handlers.has(code)) handlers.set(code, handler);
  }
  return handlers;
}

function compilePage({ target, response }: ErrorPageConfig, build: Build): Handler {
  const render = build.value(target);
  const setStatus = (x: Exchange): void => {
    if (response !== undefined) x.errorStatus = response === 'target' ? 0 : response;
  };
  return (x) => {
    const uri = render(x);
    if (uri.startsWith('@')) {
      setStatus(x);
      return x.redirectInternally(uri);
    }
    if (!uri.startsWith('/')) {
      x.errorPagesEnded = true;
      return x.redirect(REDIRECTS.has(response) ? (response as number) : 302, uri);
    }
    setStatus(x);
    if (x.method !== 'HEAD') x.method = 'GET';
    x.args = '';
    return x.redirectInternally(uri);
  };
}
