import type { PortHandler } from '../compile/index.ts';
import { methodRefusal } from '../http/index.ts';
import type { ReadQuestion } from './question.ts';

type Refusal = NonNullable<ReadQuestion['refusal']>;

/** `GET `, ` HTTP/1.1` and the line end, beside the method and the target. */
const LINE_FRAME_BYTES = 11;
/** `: ` and the line end. */
const HEADER_FRAME_BYTES = 4;

/** Why a port refuses a request before any server sees it, as the transports do; undefined when it does not. */
export function refusalBy(
  { head, needs }: Pick<PortHandler, 'head' | 'needs'>,
  { method, requestUri, headers, refusal }: ReadQuestion,
): Refusal | undefined {
  const status = methodRefusal(method, needs.anyMethod);
  if (status === 400) return { status, why: `"${method}" is no method` };
  if (status === 405) return { status, why: `the method "${method}" is not served` };
  const sizes = headerSizes(headers);
  if (sizes.length > head.maxHeaders) return { status: 494, why: 'too many headers' };
  if (Math.max(...sizes) > head.lineBytes) return { status: 494, why: 'a header line is too long' };
  const total = sizes.reduce((sum, size) => sum + size + HEADER_FRAME_BYTES, 0);
  if (total > head.bytes) return { status: 494, why: 'the headers are too long' };
  if (requestUri.length + method.length + LINE_FRAME_BYTES > head.lineBytes)
    return { status: 414, why: 'the request line is too long' };
  return refusal;
}

/** How long each header is, name and value. */
function headerSizes(headers: readonly string[]): readonly number[] {
  return headers.flatMap((text, index) =>
    index % 2 === 0 ? [text.length + (headers[index + 1] ?? '').length] : [],
  );
}
