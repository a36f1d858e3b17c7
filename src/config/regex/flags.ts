/** What `(?imsnxU)` sets; a group's flags end with the group. */
export interface Flags {
  readonly caseless: boolean;
  readonly multiLine: boolean;
  readonly dotAll: boolean;
  readonly noCapture: boolean;
  /** 2 for `(?xx)`: blanks inside classes are ignored as well. */
  readonly extended: 0 | 1 | 2;
  readonly ungreedy: boolean;
}

export const NO_FLAGS: Flags = {
  caseless: false,
  multiLine: false,
  dotAll: false,
  noCapture: false,
  extended: 0,
  ungreedy: false,
};

/** Applies the letters between `(?` and `)` or `:`, for example `i-s`, `xx` or `^m`. */
export function withLetters(flags: Flags, letters: string): Flags {
  const [on = '', off = ''] = letters.replace('^', '').split('-');
  const start = letters.startsWith('^') ? { ...NO_FLAGS, ungreedy: flags.ungreedy } : flags;
  return switched(switched(start, on, true), off, false);
}

function switched(flags: Flags, letters: string, on: boolean): Flags {
  const touched = (letter: string, current: boolean) => (letters.includes(letter) ? on : current);
  const extended = !letters.includes('x') ? flags.extended : on ? (letters.includes('xx') ? 2 : 1) : 0;
  return {
    caseless: touched('i', flags.caseless),
    multiLine: touched('m', flags.multiLine),
    dotAll: touched('s', flags.dotAll),
    noCapture: touched('n', flags.noCapture),
    extended,
    ungreedy: touched('U', flags.ungreedy),
  };
}
