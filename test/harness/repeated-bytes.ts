import { perTier } from './tier.ts';

const BYTES: readonly number[] = Array.from({ length: 256 }, (_, byte) => byte);

/** On both sides of what is read in one piece, and of twice as much. */
const SIZES: readonly number[] = [65_535, 65_536, 65_537, 65_538, 131_073];

/** Where the bytes are cut: not at all, at the edges, and into packets. */
const CUTS = ['whole', 'first byte', 'last byte', 'middle', 'packets'] as const;

/** Each size in one piece, and one of them cut in each way; or in one piece and in packets. */
const SHAPES = perTier({
  short: [CUTS[0], CUTS[4]].map((cut) => ({ size: 65_537, cut })),
  long: [
    ...SIZES.map((size) => ({ size, cut: CUTS[0] })),
    ...CUTS.slice(1).map((cut) => ({ size: 65_537, cut })),
  ],
});

const PACKET_BYTES = 16_384;

/** A front and behind it each byte there is, so many times, cut in every way; one after the other. */
export function* repeatedBytes(front: string): Generator<Buffer[]> {
  for (const byte of BYTES) for (const shape of SHAPES) yield piecesOf(front, { byte, ...shape });
}

/** How many bytes all of them are together. */
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
