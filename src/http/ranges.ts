import { randomInt } from 'node:crypto';

/** The bytes from `from` up to, but not including, `to`. */
interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** The result of a `Range` header: some ranges, the whole file, or no byte that exists. */
export type RangeVerdict = readonly ByteRange[] | 'whole' | 'unsatisfiable';

/** Size of the file, and the maximum number of ranges. */
interface RangeRules {
  readonly sizeBytes: number;
  readonly maxRanges: number;
}

/** Clients that request the whole file use this offset. */
const LARGEST_OFFSET = 2 ** 63;

/** nginx allows blanks before and after each number. */
const SPEC = / *(?:(\d+) *- *(\d+)?|-(\d+)) *(?:,|$)/y;

/**
 * Reads a `Range` as nginx does (ngx_http_range_parse), which differs from RFC 9110 in edge cases: one invalid range makes the
 * whole header invalid, ranges that are larger than the file in total give the whole file, and ranges are neither merged nor
 * sorted.
 */
export function parseRanges(header: string, { sizeBytes, maxRanges }: RangeRules): RangeVerdict {
  if (header.length < 7 || header.slice(0, 6).toLowerCase() !== 'bytes=') return 'whole';
  const ranges: ByteRange[] = [];
  let totalBytes = 0;
  SPEC.lastIndex = 6;
  do {
    const range = nextRange(header, sizeBytes);
    if (!range) return 'unsatisfiable';
    const { from, to } = range;
    if (from < to) {
      if (ranges.length === maxRanges) return 'whole';
      ranges.push(range);
      totalBytes += to - from;
    } else if (from === 0) return 'whole';
  } while (header[SPEC.lastIndex - 1] === ',');
  if (ranges.length === 0) return 'unsatisfiable';
  return totalBytes > sizeBytes ? 'whole' : ranges;
}

/** Returns the range at `SPEC.lastIndex`, which may be empty, and moves `lastIndex` behind it. */
function nextRange(header: string, sizeBytes: number): ByteRange | undefined {
  const [text, first, last, suffix] = SPEC.exec(header) ?? [];
  if (text === undefined) return undefined;
  const numbers = [first, last, suffix].map((digits) => Number(digits ?? 0));
  if (numbers.some((number) => number > LARGEST_OFFSET)) return undefined;
  const [from = 0, to = 0, suffixBytes = 0] = numbers;
  if (suffix !== undefined) return suffixRange(suffixBytes, sizeBytes);
  return { from, to: last === undefined ? sizeBytes : Math.min(to + 1, sizeBytes) };
}

/** Returns the last bytes of the file; for an empty file, the empty range at 0. */
function suffixRange(lengthBytes: number, sizeBytes: number): ByteRange {
  return { from: lengthBytes < sizeBytes ? sizeBytes - lengthBytes : 0, to: sizeBytes };
}

/** A text, and the bytes of the file that follow it. */
interface BodyPart extends ByteRange {
  readonly head: string;
}

/** The parts of a file that are sent, with the text around them. */
export interface FileBody {
  readonly contentType: string;
  readonly lengthBytes: number;
  readonly parts: readonly BodyPart[];
  readonly tail: string;
}

/** Returns a body of one range, or of the whole file. */
export function singleBody({ from, to }: ByteRange, contentType: string): FileBody {
  return { contentType, lengthBytes: to - from, parts: [{ head: '', from, to }], tail: '' };
}

/** Returns a `multipart/byteranges` body in nginx's layout (ngx_http_range_multipart_header). */
export function multipartBody(
  ranges: readonly ByteRange[],
  { contentType, sizeBytes }: { readonly contentType: string; readonly sizeBytes: number },
): FileBody {
  const boundary = String(randomInt(2 ** 47)).padStart(20, '0');
  const typeLine = contentType === '' ? '' : `Content-Type: ${contentType}\r\n`;
  const parts = ranges.map(({ from, to }) => ({
    head: `\r\n--${boundary}\r\n${typeLine}Content-Range: bytes ${from}-${to - 1}/${sizeBytes}\r\n\r\n`,
    from,
    to,
  }));
  const tail = `\r\n--${boundary}--\r\n`;
  const lengthBytes = parts.reduce((sum, { head, from, to }) => sum + head.length + to - from, tail.length);
  return { contentType: `multipart/byteranges; boundary=${boundary}`, lengthBytes, parts, tail };
}

/** Returns the ranges of a body that hold the texts around its parts. */
export function textsOf({ parts, tail }: FileBody): readonly ByteRange[] {
  const texts: ByteRange[] = [];
  let at = 0;
  for (const { head, from, to } of parts) {
    texts.push({ from: at, to: at + head.length });
    at += head.length + to - from;
  }
  return [...texts, { from: at, to: at + tail.length }];
}
