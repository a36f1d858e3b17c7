import { constantText } from '../../config/index.ts';
import type { ComplexValue } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import type { Handler } from '../../http/index.ts';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * `return code [text | URL];` (nginx ngx_http_rewrite_module#return)
 * Every decision falls here, at load time; the closure that is returned only acts.
 */
export function compileReturn({ code, text }: { code: number; text?: ComplexValue }, build: Build): Handler {
  // 444 is nginx's own: close the connection without a response header.
  if (code === 444) return (x) => x.abort();
  if (text === undefined && (code >= 400 || code === 204 || REDIRECTS.has(code))) return (x) => x.end(code);

  const render = build.value(text ?? { parts: [] });
  if (REDIRECTS.has(code)) return (x) => x.redirect(code, render(x));
  const contentType = build.contentType();
  const fixed = text && constantText(text);
  if (fixed !== undefined) return (x) => x.send(code, contentType(x), fixed);
  return (x) => {
    // The text may ask for `$status`.
    x.status = x.errorStatus || code;
    x.send(code, contentType(x), render(x));
  };
}
