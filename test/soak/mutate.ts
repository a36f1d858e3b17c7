import type { Random } from './random.ts';

type Mutation = (bytes: Buffer, random: Random) => Buffer;

/** Bytes that mean something to one of our parsers. */
const TELLING = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  ' ',
  '\t',
  ':',
  ',',
  ';',
  '=',
  '&',
  '%',
  '%00',
  '%0',
  '+',
  '"',
  "'",
  '\\',
]
  .concat('{', '}', '[', ']', '(', ')', '#', '?', '/', '..', '-1', '0', '00', '99999999999999999999', '1e999')
  .concat(
    '\u00ff',
    '\u00a0',
    'chunked',
    'Content-Length: 1\r\n',
    'Transfer-Encoding: chunked\r\n',
    '\r\n\r\n',
  )
  .concat(
    '*',
    '$',
    '$1',
    '${',
    '_',
    '@',
    '~',
    '^',
    '|',
    '<',
    '>',
    '!',
    'null',
    'true',
    '\u00ef\u00bb\u00bf',
    '\ufffe',
  );

/** How often a piece is repeated. */
const TIMES = [2, 3, 16, 255, 1024, 4096, 8192];

const MUTATIONS: readonly Mutation[] = [
  function flip(bytes, random) {
    const changed = Buffer.from(bytes);
    const at = random.below(changed.length);
    changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8));
    return changed;
  },
  function replace(bytes, random) {
    const changed = Buffer.from(bytes);
    changed[random.below(changed.length)] = random.below(256);
    return changed;
  },
  (bytes, random) => spliced(bytes, [random.below(bytes.length), 0], telling(random)),
  (bytes, random) => spliced(bytes, [random.below(bytes.length), random.between(1, 4)], telling(random)),
  (bytes, random) => spliced(bytes, [random.below(bytes.length), random.between(1, 32)], Buffer.alloc(0)),
  (bytes, random) => bytes.subarray(0, random.below(bytes.length)),
  (bytes, random) => spliced(bytes, [random.below(bytes.length), 0], random.bytes(random.between(1, 16))),
  function repeatPiece(bytes, random) {
    const at = random.below(bytes.length);
    const piece = bytes.subarray(at, at + random.between(1, 40));
    return spliced(bytes, [at, 0], Buffer.concat(Array.from({ length: random.pick(TIMES) }, () => piece)));
  },
  function repeatByte(bytes, random) {
    const filling = Buffer.alloc(random.pick([16, 300, 4097, 65_535, 65_537, 131_073]), random.below(256));
    return spliced(bytes, [random.below(bytes.length), 0], filling);
  },
  function swapLines(bytes, random) {
    const lines = bytes.toString('latin1').split('\n');
    const [one, other] = [random.below(lines.length), random.below(lines.length)];
    [lines[one], lines[other]] = [lines[other] ?? '', lines[one] ?? ''];
    return Buffer.from(lines.join('\n'), 'latin1');
  },
  function doubleLine(bytes, random) {
    const lines = bytes.toString('latin1').split('\n');
    const at = random.below(lines.length);
    return Buffer.from(lines.toSpliced(at, 0, lines[at] ?? '').join('\n'), 'latin1');
  },
  function changeNumber(bytes, random) {
    const number = random.pick([
      '0',
      '-1',
      '1',
      '00',
      '0x10',
      '2147483648',
      '4294967297',
      '999999999999999',
      '1e9',
    ]);
    const text = bytes.toString('latin1');
    const numbers = [...text.matchAll(/\d+/g)];
    if (numbers.length === 0) return bytes;
    const { index, 0: old } = random.pick(numbers);
    return spliced(bytes, [index, old.length], Buffer.from(number));
  },
];

/** No mutant is larger: all that an actor sends has to arrive within the time of its turn. */
const MAX_BYTES = 400_000;

/** The bytes with at least one and up to `most` changes. */
export function mutate(bytes: Uint8Array | string, random: Random, most = 4): Buffer {
  let mutant: Buffer = Buffer.from(bytes as Uint8Array);
  for (let changes = random.between(1, most); changes > 0; changes--) {
    mutant = mutant.length === 0 ? random.bytes(4) : random.pick(MUTATIONS)(mutant, random);
  }
  return mutant.subarray(0, MAX_BYTES);
}

function telling(random: Random): Buffer {
  return Buffer.from(random.pick(TELLING), random.chance(0.5) ? 'latin1' : 'utf8');
}

/** The bytes with others in place of the `removed` ones at `at`. */
function spliced(bytes: Buffer, [at, removed]: readonly [number, number], put: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + removed)]);
}
