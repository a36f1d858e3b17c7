import type { Exchange } from '../../../http/index.ts';
import { unreadableEncoding } from '../fault/index.ts';
import { wholeBody } from './whole-body.ts';

/** The body of a request, whole. */
export interface RequestBody {
  /** Media type in lower case, without parameters; JSON when the client does not say. */
  readonly type: string;
  readonly bytes: Buffer;
}

/**
 * Reads the body of a request. `undefined` when there is nothing more to do: it was too large or too slow and is answered,
 * or the client left. Throws PGRST102 (415) for a compressed one: it could be of any size.
 */
export async function requestBody(x: Exchange): Promise<RequestBody | undefined> {
  const encoding = x.header('content-encoding') ?? '';
  if (!/^(?:identity)?$/i.test(encoding.trim())) throw unreadableEncoding(encoding);
  const type = (x.header('content-type') ?? '')
    .replace(/\s*;.*$/s, '')
    .trim()
    .toLowerCase();
  const bytes = await wholeBody(x);
  return bytes && { type: type === '' ? 'application/json' : type, bytes };
}
