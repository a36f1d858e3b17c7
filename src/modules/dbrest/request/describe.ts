import type { Exchange } from '../../../http/index.ts';
import { notAcceptable } from '../fault/index.ts';
import type { RequestHead } from './head.ts';
import { OPENAPI_TYPE as OPENAPI } from './media.ts';

/** A GET or HEAD request for the root. */
export interface DescribeRequest {
  readonly kind: 'describe';
  readonly head: RequestHead;
  readonly mediaType: string;
}

/** An OPTIONS request. */
export interface OptionsRequest {
  readonly kind: 'options';
  readonly head: RequestHead;
}

const JSON_TYPE = 'application/json';

/** Parses a request for the OpenAPI description. Throws PGRST107. */
export function parseDescribe(x: Exchange, head: RequestHead): DescribeRequest {
  return { kind: 'describe', head, mediaType: documentType(x.header('accept'), head) };
}

/** The media type of the description: `application/openapi+json` unless plain JSON is preferred, as in PostgREST. */
function documentType(accept = '*/*', { accepted }: RequestHead): string {
  if (accept === '*/*' || accept === '') return OPENAPI;
  for (const { text, media } of accepted) {
    const name = (text.split(';', 1)[0] ?? '').trimEnd().toLowerCase();
    if (name === OPENAPI || name === '*/*' || name === 'application/*') return OPENAPI;
    if (media?.name === JSON_TYPE) return JSON_TYPE;
  }
  throw notAcceptable(accepted.map(({ text }) => text));
}
