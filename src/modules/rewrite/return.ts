import { constantText } from '../../config/index.ts';
import type { ComplexValue } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import type { Handler } from '../../http/index.ts';
import type { ReturnStep } from './config.ts';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** nginx's own codes for a client that gets no answer: the connection closes. */
const CLOSING: ReadonlySet<number> = new Set([408, 444, 499]);

const NO_CONTENT = 204;

/**
 * `return code [text | URL];` (nginx ngx_http_rewrite_module#return)
 * Every decision falls here, at load time; the closure that is returned only acts.
 */
export function compileReturn(
  { code, text = { parts: [] } }: Omit<ReturnStep, 'kind'>,
  build: Build,
): Handler {
  const isBare = text.parts.length === 0;
  if (isBare && CLOSING.has(code)) return (x) => x.abort(code);
  if (code === NO_CONTENT || (isBare && code >= 400)) return (x) => x.end(code);
  if (!REDIRECTS.has(code)) return compileText(code, text, build);
  const render = build.value(text);
  return (x) => x.redirect(code, render(x));
}

function compileText(code: number, text: ComplexValue, build: Build): Handler {
  const contentType = build.contentType();
  const fixed = constantText(text);
  if (fixed !== undefined) return (x) => x.send(code, contentType(x), fixed);
  const render = build.value(text);
  return (x) => {
    // The text may ask for `$status`.
    x.status = x.errorStatus || code;
    x.send(code, contentType(x), render(x));
  };
}
