import type { RedirectStep, RewriteStep } from '../../contract/index.ts';
import { type Handler, logContext } from '../../http/index.ts';
import { compileEscaping, compileMatch, type Compiling } from './captures.ts';

const TWO_DIGITS = /^[\da-f]{2}$/i;

/**
 * Unescapes the `Location` of a `rewrite` as nginx does: escapes of printable ASCII above `%` are decoded; other
 * escapes and everything after the first `?` are kept. A `%` that begins no escape is removed (ngx_unescape_uri,
 * NGX_UNESCAPE_REDIRECT).
 */
function unescapeRedirect(target: string): string {
  if (!target.includes('%')) return target;
  let unescaped = '';
  for (let at = 0; at < target.length; at++) {
    const character = target.charAt(at);
    if (character === '?') return unescaped + target.slice(at);
    if (character !== '%') {
      unescaped += character;
      continue;
    }
    const digits = target.slice(at + 1, at + 3);
    if (!/^[\da-f]/i.test(digits)) continue;
    at += 2;
    if (!TWO_DIGITS.test(digits)) continue;
    const decoded = String.fromCharCode(Number.parseInt(digits, 16));
    if (decoded === '?') return `${unescaped}?${target.slice(at + 1)}`;
    unescaped += decoded > '%' && decoded < '\x7f' ? decoded : `%${digits}`;
  }
  return unescaped;
}

/** Compiles `rewrite regex replacement [last | break];`. */
export function compileRewrite(step: RewriteStep, compiling: Compiling): Handler {
  const { build, log } = compiling;
  const { keepsArgs, flag } = step;
  const matches = compileMatch(step.regex, compiling);
  const renderPath = build.value(step.path);
  const renderArgs = step.args && compileEscaping(step.args, build);
  return (x) => {
    if (!matches(x, x.uri)) return undefined;
    const uri = renderPath(x);
    const args = renderArgs?.(x);
    if (args !== undefined) x.args = keepsArgs && x.args !== '' ? `${args}&${x.args}` : args;
    else if (!keepsArgs) x.args = '';
    if (log) build.log.write('notice', `rewritten data: "${uri}", args: "${x.args}"`, logContext(x));
    if (uri === '') {
      build.log.write('error', 'the rewritten URI has a zero length', logContext(x));
      return x.end(500);
    }
    x.uri = uri;
    x.isOriginalUri = false;
    x.internal = true;
    x.rewritePhase = {
      hasReplacedUri: true,
      relocates: flag !== 'break',
      hasLeftLocation: flag === 'break',
      isEnded: flag !== 'none',
    };
    return undefined;
  };
}

/** Compiles `rewrite regex replacement redirect | permanent;`, and any whose replacement is a URL. */
export function compileRedirect(step: RedirectStep, compiling: Compiling): Handler {
  const { build, log } = compiling;
  const { code, keepsArgs } = step;
  const matches = compileMatch(step.regex, compiling);
  const render = compileEscaping(step.target, build);
  const joint = step.hasArgs ? '&' : '?';
  return (x) => {
    if (!matches(x, x.uri)) return undefined;
    const target = unescapeRedirect(render(x));
    const location = keepsArgs && x.args !== '' ? target + joint + x.args : target;
    if (log) build.log.write('notice', `rewritten redirect: "${location}"`, logContext(x));
    return x.redirect(code, location);
  };
}
