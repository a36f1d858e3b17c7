import { linearRegex } from '../../config/index.ts';
import type { ReadRegex } from '../../config/index.ts';
import { HttpFault } from '../http-fault.ts';
import { BoundedRegex, MatchLimit } from './bounded.ts';

export { BoundedRegex, MatchLimit, MAX_STEPS } from './bounded.ts';

/** A pattern of the configuration, ready to match what clients send. A match that takes too long throws an `HttpFault`. */
export interface Regex {
  /** Groups by PCRE's numbers. */
  exec(text: string): RegExpExecArray | null;
  test(text: string): boolean;
}

/** Which engine matches a text is decided by the text's length: none can be kept busy for longer than some 50 ms. */
export function compileRegex(regex: ReadRegex): Regex {
  const usual = new RegExp(regex.source);
  const { usual: short, linear: long } = regex.bounds;
  let linear: RegExp | undefined;
  let bounded: BoundedRegex | undefined;
  const engineFor = ({ length }: string): RegExp | BoundedRegex => {
    if (length <= short) return usual;
    if (length <= long) linear ??= linearRegex(regex.source);
    return (length <= long && linear) || (bounded ??= new BoundedRegex(regex.source));
  };
  const exec = (text: string): RegExpExecArray | null => {
    try {
      return engineFor(text).exec(text);
    } catch (error) {
      throw error instanceof MatchLimit ? matchLimitFault(regex, text) : error;
    }
  };
  return { exec, test: (text) => exec(text) !== null };
}

const SHOWN = 200;
/** PCRE2_ERROR_MATCHLIMIT */
const MATCH_LIMIT = -47;

function matchLimitFault({ pattern }: ReadRegex, text: string): HttpFault {
  const shown = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
  return new HttpFault(500, `pcre2_match() failed: ${MATCH_LIMIT} on "${shown}" using "${pattern}"`);
}
