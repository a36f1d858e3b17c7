import type { Exchange } from '../../../http/index.ts';
import { unreadableEncoding } from '../fault/index.ts';
import type { ReceivedBody } from '../request/index.ts';
import { turnsFor } from '../turn.ts';
import { wholeBody } from './whole-body.ts';

/**
 * Reads the body of a request; JSON when the client does not say. `undefined` when there is nothing more to do: it was too large or too slow and is answered,
 * or the client left. Throws PGRST102 (415) for a compressed one: it could be of any size.
 */
export async function requestBody(x: Exchange): Promise<ReceivedBody | undefined> {
  const encoding = x.header('content-encoding') ?? '';
  if (!/^(?:identity)?$/i.test(encoding.trim())) throw unreadableEncoding(encoding);
  const [type = ''] = (x.header('content-type') ?? '').split(';', 1).map((name) => name.trim().toLowerCase());
  const bytes = await wholeBody(x);
  return bytes && { type: type === '' ? 'application/json' : type, bytes, turn: turnsFor(x) };
}
