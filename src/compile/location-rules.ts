import { constantText } from '../config/index.ts';
import type { Build, CoreConfig, ErrorPageConfig } from '../contract/index.ts';
import {
  type ResponseRules,
  type ConnectionRules,
  type Exchange,
  type Handler,
  isMsie6,
  type LogStep,
} from '../http/index.ts';

const SAFARI = /^(?!.*(?:MSIE |Opera|Gecko\/|Chrome\/))(?=.*Safari\/).*Mac OS X/;

/** Compiles the `keepalive_*` and `lingering_*` directives of a location. */
export function connectionRules(core: CoreConfig, build: Build): ConnectionRules {
  const { idleMs, headerSeconds = 0 } = core.keepaliveTimeout;
  return {
    keepalive: idleMs > 0 && core.keepaliveRequests > 0,
    idleMs,
    maxRequests: core.keepaliveRequests,
    lifeMs: core.keepaliveTimeMs,
    keepaliveHeader: headerSeconds > 0 ? `timeout=${headerSeconds}` : undefined,
    closesFor: compileClosesFor(core, build),
    lingering: {
      mode: core.lingeringClose,
      timeMs: core.lingeringTimeMs,
      silenceMs: core.lingeringTimeoutMs,
    },
    resetsTimedOut: core.resetTimedoutConnection,
  };
}

/** Returns the settings of redirects. */
export function redirectRules(core: CoreConfig): ResponseRules['redirects'] {
  return {
    isAbsolute: core.absoluteRedirect,
    byServerName: core.serverNameInRedirect,
    withPort: core.portInRedirect,
  };
}

/** Compiles `keepalive_disable`: recognises browsers as nginx does (ngx_http_process_user_agent). */
function compileClosesFor({ keepaliveDisable }: CoreConfig, build: Build): ConnectionRules['closesFor'] {
  if (keepaliveDisable.length === 0) return undefined;
  build.needHeader('user-agent');
  const noMsie6 = keepaliveDisable.includes('msie6');
  const noSafari = keepaliveDisable.includes('safari');
  return (x) => {
    const agent = x.header('user-agent') ?? '';
    return (noMsie6 && x.request.method === 'POST' && isMsie6(agent)) || (noSafari && SAFARI.test(agent));
  };
}

/** Compiles `server_tokens`. */
export function serverTokens(
  { serverTokens: tokens }: Pick<CoreConfig, 'serverTokens'>,
  version: string,
  build: Build,
): Pick<ResponseRules, 'serverToken' | 'serverTokenOf'> {
  if (tokens === 'off') return { serverToken: 'gw' };
  if (typeof tokens === 'string') return { serverToken: `gw/${version}` };
  const fixed = constantText(tokens);
  return fixed === undefined
    ? { serverToken: 'gw', serverTokenOf: withoutRecursion('gw', build.value(tokens)) }
    : { serverToken: fixed };
}

/**
 * Guards `render` against recursion, for example by a variable that has the length of the head, which includes the
 * `Server` line. The inner call returns the plain token.
 */
function withoutRecursion(plain: string, render: (x: Exchange) => string): (x: Exchange) => string {
  let isRendering = false;
  return (x) => {
    if (isRendering) return plain;
    isRendering = true;
    try {
      return render(x);
    } finally {
      isRendering = false;
    }
  };
}

const REDIRECTS: ReadonlySet<unknown> = new Set([301, 302, 303, 307, 308]);

/** The error pages of a location whose module formats errors itself. `has` is about `error_page` only. */
class FormattedErrors extends Map<number, Handler> {
  readonly #format: Handler;

  constructor(format: Handler) {
    super();
    this.#format = format;
  }

  override get(status: number): Handler | undefined {
    return super.get(status) ?? (status >= 400 ? this.#format : undefined);
  }
}

/** Tells whether the module of a location formats errors itself. */
export function formatsErrors({ errorPages }: ResponseRules): boolean {
  return errorPages instanceof FormattedErrors;
}

/** Compiles `error_page` of one location. The first directive with a status wins (nginx). `format` gets the others. */
export function compileErrorPages(
  pages: readonly ErrorPageConfig[] | undefined,
  format: Handler | undefined,
  build: Build,
): ReadonlyMap<number, Handler> | undefined {
  if (!pages && !format) return undefined;
  const handlers = format ? new FormattedErrors(format) : new Map<number, Handler>();
  if (!pages) return handlers;
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

/** Compiles `post_action`: a subrequest after the response, which is not awaited. Subrequests do not run it. */
export function compilePostAction(uri: string | undefined): readonly LogStep[] {
  return uri === undefined ? [] : [(x) => void x.subrequest({ uri, method: x.method, keep: 'head' })];
}
