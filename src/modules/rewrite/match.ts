import type { ReadRegex } from '../../config/index.ts';
import { logContext } from '../../http/index.ts';
import type { Exchange } from '../../http/index.ts';
import type { Compiling } from './compiling.ts';

/** Whether a text matches. Unlike elsewhere, one that does not leaves no captures (nginx ngx_http_script_regex_start_code). */
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
