import type { ComplexValue } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import { encodeArgument } from '../../http/index.ts';
import type { Exchange } from '../../http/index.ts';

type Text = (x: Exchange) => string;

/** The path of the request was encoded: what is cut out of `$uri` may hold characters that mean something in a URL. */
export function isEncoded({ requestUri }: Exchange): boolean {
  const mark = requestUri.indexOf('?');
  const end = mark < 0 ? requestUri.length : mark;
  const isInPath = (at: number): boolean => at >= 0 && at < end;
  return isInPath(requestUri.indexOf('%')) || isInPath(requestUri.indexOf('+'));
}

/** A value whose captures are escaped, as an argument needs it, for the requests that `escapes` picks; variables never are. */
export function compileEscaping(
  value: ComplexValue,
  build: Build,
  escapes: (x: Exchange) => boolean = isEncoded,
): Text {
  const { parts } = value;
  if (!parts.some((part) => typeof part === 'object' && 'capture' in part)) return build.value(value);
  const pieces = parts.map((part): Text => {
    if (typeof part === 'string' || 'variable' in part) return build.value({ parts: [part] });
    const { capture } = part;
    return (x) => {
      const text = x.captures?.[capture] ?? '';
      return escapes(x) ? encodeArgument(text) : text;
    };
  });
  return (x) => {
    let text = '';
    for (const piece of pieces) text += piece(x);
    return text;
  };
}

/**
 * The value of `set` and `if`. nginx escapes the captures in it until a `rewrite` of this phase has replaced the URI
 * (ngx_http_rewrite_handler starts with `quote` set).
 */
export function compileOperand(value: ComplexValue, build: Build): Text {
  return compileEscaping(value, build, (x) => !x.uriReplaced && isEncoded(x));
}
