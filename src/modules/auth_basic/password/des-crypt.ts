/*
 * crypt(3) as Unix has had it since 1979: a DES key of eight characters encrypts zeros 25 times, and a salt of 12 bits swaps
 * entries of the expansion table. Kept for the files of `htpasswd -d`; bit by bit, which takes less than a millisecond.
 */

// prettier-ignore
const INITIAL = [
  58, 50, 42, 34, 26, 18, 10, 2, 60, 52, 44, 36, 28, 20, 12, 4, 62, 54, 46, 38, 30, 22, 14, 6, 64, 56, 48, 40, 32, 24, 16, 8,
  57, 49, 41, 33, 25, 17, 9, 1, 59, 51, 43, 35, 27, 19, 11, 3, 61, 53, 45, 37, 29, 21, 13, 5, 63, 55, 47, 39, 31, 23, 15, 7,
];
// prettier-ignore
const FINAL = [
  40, 8, 48, 16, 56, 24, 64, 32, 39, 7, 47, 15, 55, 23, 63, 31, 38, 6, 46, 14, 54, 22, 62, 30, 37, 5, 45, 13, 53, 21, 61, 29,
  36, 4, 44, 12, 52, 20, 60, 28, 35, 3, 43, 11, 51, 19, 59, 27, 34, 2, 42, 10, 50, 18, 58, 26, 33, 1, 41, 9, 49, 17, 57, 25,
];
// prettier-ignore
const KEY_HALVES = [
  [57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44, 36],
  [63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20, 12, 4],
] as const;
const ROTATIONS = [1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1];
// prettier-ignore
const ROUND_KEY = [
  14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2,
  41, 52, 31, 37, 47, 55, 30, 40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
];
// prettier-ignore
const EXPANSION = [
  32, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8, 9, 8, 9, 10, 11, 12, 13, 12, 13, 14, 15, 16, 17,
  16, 17, 18, 19, 20, 21, 20, 21, 22, 23, 24, 25, 24, 25, 26, 27, 28, 29, 28, 29, 30, 31, 32, 1,
];
const PERMUTATION = [
  16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, 2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6, 22,
  11, 4, 25,
];
/** Four rows of 16 in each of the eight boxes, one hexadecimal digit per entry. */
const BOXES = [
  'e4d12fb83a6c5907 0f74e2d1a6cb9538 41e8d62bfc973a50 fc8249175b3ea06d',
  'f18e6b34972dc05a 3d47f28ec01a69b5 0e7ba4d158c6932f d8a13f42b67c05e9',
  'a09e63f51dc7b428 d709346a285ecbf1 d6498f30b12c5ae7 1ad069874fe3b52c',
  '7de3069a1285bc4f d8b56f03472c1ae9 a690cb7df13e5284 3f06a1d8945bc72e',
  '2c417ab6853fd0e9 eb2c47d150fa3986 421bad78f9c5630e b8c71e2d6f09a453',
  'c1af92680d34e75b af427c9561de0b38 9ef528c3704a1db6 432c95fabe17608d',
  '4b2ef08d3c975a61 d0b7491ae35c2f86 14bdc37eaf680592 6bd814a7950fe23c',
  'd2846fb1a93e50c7 1fd8a374c56b0e92 7b419ce206adf358 21e74a8dfc90356b',
].map((box) => box.split(' ').map((row) => row.split('').map((digit) => Number.parseInt(digit, 16))));

const ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ITERATIONS = 25;

type Bits = readonly number[];

/** The 13 characters of a password under the salt that `setting` begins with; `undefined`: it is no salt. */
export function desCrypt(password: Uint8Array, setting: string): string | undefined {
  const salt = [0, 1].map((place) => ALPHABET.indexOf(setting[place] ?? ' '));
  if (salt.includes(-1)) return undefined;
  const keys = roundKeys(keyBits(password));
  const expansion = salted(salt);
  let block: Bits = Array<number>(64).fill(0);
  for (let n = 0; n < ITERATIONS; n++) block = encrypt(block, keys, expansion);
  return setting.slice(0, 2) + encode(block);
}

const pick = (bits: Bits, places: readonly number[]): number[] => places.map((place) => bits[place - 1] ?? 0);

/** Seven bits of each of the first eight bytes; what would be the parity bit stays 0. */
function keyBits(password: Uint8Array): Bits {
  return Array.from({ length: 64 }, (_, bit) =>
    bit % 8 === 7 ? 0 : ((password[bit >> 3] ?? 0) >> (6 - (bit % 8))) & 1,
  );
}

function roundKeys(key: Bits): readonly Bits[] {
  let [left, right] = KEY_HALVES.map((half) => pick(key, half)) as [number[], number[]];
  return ROTATIONS.map((by) => {
    left = [...left.slice(by), ...left.slice(0, by)];
    right = [...right.slice(by), ...right.slice(0, by)];
    return pick([...left, ...right], ROUND_KEY);
  });
}

function salted(salt: readonly number[]): readonly number[] {
  const expansion = [...EXPANSION];
  for (let bit = 0; bit < 12; bit++) {
    if ((((salt[bit < 6 ? 0 : 1] as number) >> (bit % 6)) & 1) === 0) continue;
    [expansion[bit], expansion[bit + 24]] = [EXPANSION[bit + 24] as number, EXPANSION[bit] as number];
  }
  return expansion;
}

function encrypt(block: Bits, keys: readonly Bits[], expansion: readonly number[]): Bits {
  const start = pick(block, INITIAL);
  let left: Bits = start.slice(0, 32);
  let right: Bits = start.slice(32);
  for (const key of keys) {
    const mixed = pick(right, expansion).map((bit, index) => bit ^ (key[index] as number));
    const scrambled = pick(substitute(mixed), PERMUTATION);
    [left, right] = [right, scrambled.map((bit, index) => bit ^ (left[index] as number))];
  }
  return pick([...right, ...left], FINAL);
}

function substitute(bits: Bits): Bits {
  return BOXES.flatMap((box, index) => {
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = bits.slice(index * 6, index * 6 + 6);
    const value = box[a * 2 + f]?.[b * 8 + c * 4 + d * 2 + e] as number;
    return [value >> 3, (value >> 2) & 1, (value >> 1) & 1, value & 1];
  });
}

function encode(block: Bits): string {
  let text = '';
  for (let at = 0; at < 66; at += 6) {
    let value = 0;
    for (let bit = at; bit < at + 6; bit++) value = value * 2 + (block[bit] ?? 0);
    text += ALPHABET[value] as string;
  }
  return text;
}
