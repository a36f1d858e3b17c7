import { complement, type CodePoints } from './code-points.ts';

const digit: CodePoints = [[0x30, 0x39]];
const upper: CodePoints = [[0x41, 0x5a]];
const lower: CodePoints = [[0x61, 0x7a]];
const alpha: CodePoints = [...upper, ...lower];
const alnum: CodePoints = [...digit, ...alpha];
const word: CodePoints = [...alnum, [0x5f, 0x5f]];
const space: CodePoints = [
  [0x09, 0x0d],
  [0x20, 0x20],
];
const xdigit: CodePoints = [...digit, [0x41, 0x46], [0x61, 0x66]];
const punct: CodePoints = [
  [0x21, 0x2f],
  [0x3a, 0x40],
  [0x5b, 0x60],
  [0x7b, 0x7e],
];

/** `[:name:]` in PCRE's built-in "C" tables: ASCII only. */
export const POSIX_SETS: Readonly<Record<string, CodePoints>> = {
  alpha,
  lower,
  upper,
  alnum,
  digit,
  xdigit,
  word,
  space,
  punct,
  ascii: [[0, 0x7f]],
  blank: [
    [0x09, 0x09],
    [0x20, 0x20],
  ],
  cntrl: [
    [0, 0x1f],
    [0x7f, 0x7f],
  ],
  graph: [[0x21, 0x7e]],
  print: [[0x20, 0x7e]],
};

const horizontalSpace: CodePoints = [
  [0x09, 0x09],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x180e, 0x180e],
  [0x2000, 0x200a],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
];

/** What `\R` and `\v` call a line end, besides the pair CR LF. */
export const verticalSpace: CodePoints = [
  [0x0a, 0x0d],
  [0x85, 0x85],
  [0x2028, 0x2029],
];

/** `\d`, `\W` and so on: PCRE's meaning, which for `\s`, `\h` and `\v` is not JavaScript's. */
export const SHORTHAND_SETS: Readonly<Record<string, CodePoints>> = {
  d: digit,
  D: complement(digit),
  w: word,
  W: complement(word),
  s: space,
  S: complement(space),
  h: horizontalSpace,
  H: complement(horizontalSpace),
  v: verticalSpace,
  V: complement(verticalSpace),
};
