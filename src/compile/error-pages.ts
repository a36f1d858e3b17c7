import type { Build, ErrorPageConfig } from '../contract/index.ts';
import type { Exchange, Handler } from '../http/index.ts';

/** Sends a request to another place of its server. */
export interface Redirector {
  /** By URI, through the server's rewrites and locations. */
  toUri(x: Exchange, target: string): void | Promise<void>;
  toNamed(x: Exchange, name: string): void | Promise<void>;
}

const REDIRECTS: ReadonlySet<unknown> = new Set([301, 302, 303, 307, 308]);

/** `error_page` of one location: by status, what serves it. The first directive that names a status wins (nginx). */
export function compileErrorPages(
  pages: readonly ErrorPageConfig[] | undefined,
  redirector: Redirector,
  build: Build,
): ReadonlyMap<number, Handler> | undefined {
  if (!pages) return undefined;
  const handlers = new Map<number, Handler>();
  for (const page of pages) {
    const handler = compilePage(page, redirector, build);
    for (const code of page.codes) if (!handlers.has(code)) handlers.set(code, handler);
  }
  return handlers;
}

function compilePage({ target, response }: ErrorPageConfig, redirector: Redirector, build: Build): Handler {
  const render = build.value(target);
  const setStatus = (x: Exchange): void => {
    if (response !== undefined) x.errorStatus = response === 'target' ? 0 : response;
  };
  return (x) => {
    const uri = render(x);
    if (uri.startsWith('@')) {
      setStatus(x);
      return redirector.toNamed(x, uri);
    }
    if (!uri.startsWith('/')) return x.redirect(REDIRECTS.has(response) ? (response as number) : 302, uri);
    setStatus(x);
    if (x.method !== 'HEAD') x.method = 'GET';
    x.args = '';
    return redirector.toUri(x, uri);
  };
}
