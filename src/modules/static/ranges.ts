import { randomInt } from 'node:crypto';

/** Bytes `from` to, not including, `to`. */
interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** What a `Range` asks for: some bytes, everything after all, or nothing that is there. */
export type RangeVerdict = readonly ByteRange[] | 'whole' | 'unsatisfiable';

/** What the ranges are cut from, and how many there may be. */
interface RangeRules {
  readonly sizeBytes: number;
  readonly maxRanges: number;
}

/** Clients that want everything name this one. */
const LARGEST_OFFSET = 2 ** 63;

/** Blanks stand where nginx takes them: before and behind each number. */
const SPEC = / *(?:(\d+) *- *(\d+)?|-(\d+)) *(?:,|$)/y;

/**
 * Reads a `Range` as nginx does (ngx_http_range_parse), whose rules differ from those of RFC 9110 at the edges: a part that
 * cannot be read spoils all, more bytes than there are in all is everything, and ranges are neither merged nor sorted.
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

/** The range at `SPEC.lastIndex`, perhaps an empty one; moves on behind it. */
function nextRange(header: string, sizeBytes: number): ByteRange | undefined {
  const [text, first, last, suffix] = SPEC.exec(header) ?? [];
  if (text === undefined) return undefined;
  const numbers = [first, last, suffix].map((digits) => Number(digits ?? 0));
  if (numbers.some((number) => number > LARGEST_OFFSET)) return undefined;
  const [from = 0, to = 0, suffixBytes = 0] = numbers;
  if (suffix !== undefined) return suffixRange(suffixBytes, sizeBytes);
  return { from, to: last === undefined ? sizeBytes : Math.min(to + 1, sizeBytes) };
}

/** The last bytes; none of an empty file begin with its first. */
function suffixRange(lengthBytes: number, sizeBytes: number): ByteRange {
  return { from: lengthBytes < sizeBytes ? sizeBytes - lengthBytes : 0, to: sizeBytes };
}

/** A text and the bytes of the file behind it. */
interface BodyPart extends ByteRange {
  readonly head: string;
}

/** What of a file is sent, and what stands around it. */
export interface FileBody {
  readonly contentType: string;
  readonly lengthBytes: number;
  readonly parts: readonly BodyPart[];
  readonly tail: string;
}

/** One piece of a file, or all of it. */
export function singleBody({ from, to }: ByteRange, contentType: string): FileBody {
  return { contentType, lengthBytes: to - from, parts: [{ head: '', from, to }], tail: '' };
}

/** Several pieces as `multipart/byteranges`, laid out as nginx does (ngx_http_range_multipart_header). */
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
