import type { ComplexValue, ReadRegex } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import { encodeArgument, type Exchange, logContext } from '../../http/index.ts';

/** The values that the steps of one block are compiled with. */
export interface Compiling {
  readonly build: Build;
  /** `rewrite_log` */
  readonly log: boolean;
  /** The directory that relative paths of file tests start at. */
  readonly prefix: string;
}

type Text = (x: Exchange) => string;

/** Tells whether the path was encoded: then captures of `$uri` may contain characters that are special in a URL. */
function isEncoded({ request: { requestUri } }: Exchange): boolean {
  const mark = requestUri.indexOf('?');
  const end = mark < 0 ? requestUri.length : mark;
  const isInPath = (at: number): boolean => at >= 0 && at < end;
  return isInPath(requestUri.indexOf('%')) || isInPath(requestUri.indexOf('+'));
}

/** Compiles a value. If `escapes` is true for the request, captures are escaped as arguments; variables never are. */
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
 * Compiles the value of `set` and `if`. nginx escapes its captures until a `rewrite` of this phase has replaced the URI
 * (ngx_http_rewrite_handler starts with `quote` set).
 */
export function compileOperand(value: ComplexValue, build: Build): Text {
  return compileEscaping(value, build, (x) => !x.rewritePhase?.hasReplacedUri && isEncoded(x));
}

/** Compiles a match. Unlike elsewhere, a failed match clears the captures (nginx ngx_http_script_regex_start_code). */
export function compileMatch(
  regex: ReadRegex,
  { build, log }: Compiling,
): (x: Exchange, text: string) => boolean {
  const matches = build.matcher(regex);
  const test = (x: Exchange, text: string): boolean => {
    if (matches(x, text)) return true;
    x.captures = undefined;
    return false;
  };
  if (!log) return test;
  return (x, text) => {
    const isMatch = test(x, text);
    const verb = isMatch ? 'matches' : 'does not match';
    build.log.write('notice', `"${regex.pattern}" ${verb} "${text}"`, logContext(x));
    return isMatch;
  };
}
