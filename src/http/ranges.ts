import { randomInt } from 'node:crypto';
import type { HeaderNeed, Validators } from './conditions.ts';
import { parseHttpDate } from './dates.ts';
import type { Exchange } from './exchange.ts';
import { RANGED } from './response-type.ts';

/** The bytes from `from` up to, but not including, `to`. */
interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** The result of a `Range` header: some ranges, the whole file, or no byte that exists. */
type RangeVerdict = readonly ByteRange[] | 'whole' | 'unsatisfiable';

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
function multipartBody(
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
function textsOf({ parts, tail }: FileBody): readonly ByteRange[] {
  const texts: ByteRange[] = [];
  let at = 0;
  for (const { head, from, to } of parts) {
    texts.push({ from: at, to: at + head.length });
    at += head.length + to - from;
  }
  return [...texts, { from: at, to: at + tail.length }];
}

/** Responds with 416: no requested byte exists. */
export function refuseRange(x: Exchange, { sizeBytes, type }: Pick<Resource, 'sizeBytes' | 'type'>): void {
  passFilters(x, { type, lengthBytes: sizeBytes });
  x.response.removeHeader('Last-Modified');
  x.response.removeHeader('ETag');
  x.response.setHeader('Content-Range', `bytes */${sizeBytes}`);
  x.end(416);
}

/** The resource of which ranges are sent. */
interface Resource {
  readonly sizeBytes: number;
  readonly validators: Validators;
  readonly type: string;
}

/** Returns the ranges of a request. `not offered`: the response does not announce that ranges are supported. */
export type Ranges = (x: Exchange, resource: Resource) => RangeVerdict | 'not offered';

/** Compiles the evaluation of `Range` and `If-Range` (nginx: ngx_http_range_header_filter). */
export function compileRanges(
  { maxRanges = Infinity }: { readonly maxRanges?: number | undefined },
  build: HeaderNeed,
): Ranges {
  if (maxRanges === 0) return () => 'not offered';
  build.needHeader('range');
  build.needHeader('if-range');
  return (x, { sizeBytes, validators, type }) => {
    if (!isPlain(x)) return 'not offered';
    const changes = transformation(x, { status: 200, type, lengthBytes: sizeBytes });
    if (changes === 'length') return 'not offered';
    const range = x.request.headers.length === 0 ? undefined : x.header('range');
    if (range === undefined || !isStillThat(x.header('if-range'), sentValidators(x, validators)))
      return 'whole';
    return parseRanges(range, { sizeBytes, maxRanges });
  };
}

/** Returns the validators with the date that the client gets (`add_header Last-Modified`). */
function sentValidators(x: Exchange, validators: Validators): Validators {
  const { modified } = x.rules.ranges;
  return modified
    ? { ...validators, modifiedSeconds: modified(x) ?? validators.modifiedSeconds }
    : validators;
}

/** Evaluates `If-Range`: a tag or a date that must match the resource exactly. */
function isStillThat(ifRange: string | undefined, { etag, modifiedSeconds }: Validators): boolean {
  if (ifRange === undefined) return true;
  return ifRange.endsWith('"') ? ifRange === etag : parseHttpDate(ifRange) === modifiedSeconds;
}

/** True for the client's own request. Conditions and ranges do not apply to subrequests and error pages. */
export function isPlain(x: Exchange): boolean {
  return x.main === x && (x.errorStatus === 0 || x.errorStatus === 200);
}

/** Returns the body of a 206, and sets its `Content-Range`. */
export function partialBody(
  x: Exchange,
  ranges: Extract<RangeVerdict, readonly unknown[]>,
  { sizeBytes, type }: Pick<Resource, 'sizeBytes' | 'type'>,
): FileBody {
  const [only] = ranges;
  if (!only || ranges.length > 1) {
    const contentType = x.rules.ranges.typeOfParts?.(x, type) ?? type;
    const body = multipartBody(ranges, { contentType, sizeBytes });
    x.setState(RANGED, { type, sizeBytes, texts: textsOf(body) });
    return body;
  }
  x.setState(RANGED, { type, sizeBytes });
  x.response.setHeader('Content-Range', `bytes ${only.from}-${only.to - 1}/${sizeBytes}`);
  return singleBody(only, type);
}

/** A response that may be sent later. */
interface ExpectedResponse {
  readonly status: number;
  readonly type: string;
  readonly lengthBytes: number;
}

function expect(x: Exchange, { status, type, lengthBytes }: ExpectedResponse): void {
  x.status = status;
  x.response.type = type;
  x.response.lengthBytes = lengthBytes;
}

/** Returns the part of such a response that body filters would change: nothing, its bytes, or its length as well. */
function transformation(x: Exchange, expected: ExpectedResponse): 'nothing' | 'bytes' | 'length' {
  if (x.rules.bodyFilters.length === 0) return 'nothing';
  expect(x, expected);
  const applied = x.rules.bodyFilters.filter((filter) => filter.wants(x));
  if (applied.length === 0) return 'nothing';
  return applied.every((filter) => filter.keepsLength?.(x)) ? 'bytes' : 'length';
}

/**
 * Runs the header filters as for a 200. The headers that they add stay if the response becomes another one, as in
 * nginx, whose range filter runs last.
 */
function passFilters(x: Exchange, expected: Omit<ExpectedResponse, 'status'>): void {
  expect(x, { status: 200, ...expected });
  for (const filter of x.rules.filters) filter(x);
}
