import { isUtf8 } from 'node:buffer';
import { type Exchange, isLimitedAlike, MOST_WHOLE_BYTES } from '../../../http/index.ts';
import {
  barredOverride,
  type BodyLimit,
  invalidBody,
  otherOverride,
  unreadableQuery,
} from '../fault/index.ts';
import { receiveBody } from './body.ts';

/** The method of reads that have their parameters in the body, as a form (draft-ietf-httpbis-safe-method-w-body). */
export const QUERY = 'QUERY';

/** The media type of the body of a QUERY. */
export const QUERY_TYPE = 'application/x-www-form-urlencoded';

/**
 * The method of a request. Not every client can send a QUERY, so a POST with a header stands for it. A page of another origin needs a
 * preflight request to send that header. A misspelt one must not write, and `limit_except` has judged the POST alone. Throws DBREST115
 * and DBREST116.
 */
export function methodOf(x: Exchange): string {
  const { method } = x;
  if (method !== 'POST') return method;
  const override = x.header('x-http-method-override');
  if (override === undefined) return method;
  if (override !== QUERY) throw otherOverride(QUERY);
  if (!isLimitedAlike(x, QUERY)) throw barredOverride(QUERY);
  return QUERY;
}

/** Its parameters are parsed at once, which takes some 2 ms, and 50 ms at worst. 5,000 uuids have room. */
const MOST_BYTES = 262_144;

/**
 * The raw query of a request: that of its URL, followed by the body of a QUERY. Returns a promise only for a QUERY; it resolves
 * to `undefined` when the response has been sent or the client has gone. Rejects with PGRST102 for a body of another type.
 */
export function argsOf(x: Exchange): string | Promise<string | undefined> {
  return methodOf(x) === QUERY ? receiveArgs(x) : x.args;
}

/** What bounds the body of a request that is read whole. */
export function bodyLimitOf(x: Exchange): BodyLimit {
  const configured = x.rules.maxBodyBytes || MOST_WHOLE_BYTES;
  const isQuery = x.method === QUERY || x.header('x-http-method-override') === QUERY;
  return isQuery && configured > MOST_BYTES
    ? { of: 'query', bytes: MOST_BYTES }
    : { of: 'client_max_body_size', bytes: configured };
}

async function receiveArgs(x: Exchange): Promise<string | undefined> {
  const received = await receiveBody(x, MOST_BYTES);
  if (!received) return undefined;
  const { type, bytes } = received;
  if (bytes.length === 0) return x.args;
  if (x.header('content-type') === undefined || type !== QUERY_TYPE)
    throw unreadableQuery(x.header('content-type'), QUERY_TYPE);
  if (!isUtf8(bytes)) throw invalidBody('Empty or invalid form');
  const content = bytes.toString();
  return x.args === '' ? content : `${x.args}&${content}`;
}
