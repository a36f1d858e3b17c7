import { perTier } from './tier.ts';

/** The short tier has only some bytes above ASCII, which no parser tells apart. */
const BYTES = perTier({
  short: [...Array.from({ length: 129 }, (_, byte) => byte), 0xc3, 0xff],
  long: Array.from({ length: 256 }, (_, byte) => byte),
});

/** Sizes just below and above one read of a socket, and two of them. */
const SIZES: readonly number[] = [65_535, 65_536, 65_537, 65_538, 131_073];

/** How the bytes are split: not at all, at the edges, into packets. */
const CUTS = ['whole', 'first byte', 'last byte', 'middle', 'packets'] as const;

/** Each size in one piece, and one of them split in each way; or in one piece and in packets. */
const SHAPES = perTier({
  short: [CUTS[0], CUTS[4]].map((cut) => ({ size: 65_537, cut })),
  long: [
    ...SIZES.map((size) => ({ size, cut: CUTS[0] })),
    ...CUTS.slice(1).map((cut) => ({ size: 65_537, cut })),
  ],
});

const PACKET_BYTES = 16_384;

/** Yields a prefix followed by every byte value, repeated to each size and split in each way. */
export function* repeatedBytes(front: string): Generator<Buffer[]> {
  for (const byte of BYTES) for (const shape of SHAPES) yield piecesOf(front, { byte, ...shape });
}

/** The total number of these bytes. */
export const REPEATED_BYTES = BYTES.length * SHAPES.reduce((sum, { size }) => sum + size, 0);

function piecesOf(
  front: string,
  { byte, size, cut }: { byte: number; size: number; cut: (typeof CUTS)[number] },
): Buffer[] {
  const bytes = Buffer.concat([Buffer.from(front, 'latin1'), Buffer.alloc(size, byte)]);
  if (cut === 'whole') return [bytes];
  if (cut === 'packets') {
    const packets = Math.ceil(bytes.length / PACKET_BYTES);
    return Array.from({ length: packets }, (_, at) =>
      bytes.subarray(at * PACKET_BYTES, (at + 1) * PACKET_BYTES),
    );
  }
  const at = { 'first byte': 1, 'last byte': bytes.length - 1, middle: bytes.length >> 1 }[cut];
  return [bytes.subarray(0, at), bytes.subarray(at)];
}
