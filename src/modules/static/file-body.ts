import { randomInt } from 'node:crypto';
import type { ByteRange } from './ranges.ts';

/** A text and the bytes of the file behind it. */
export interface BodyPart extends ByteRange {
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
