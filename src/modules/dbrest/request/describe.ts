import type { Exchange } from '../../../http/index.ts';
import { notAcceptable } from '../fault/index.ts';
import type { RequestHead } from './head.ts';

/** GET and HEAD of the root. */
export interface DescribeRequest {
  readonly kind: 'describe';
  readonly head: RequestHead;
  readonly mediaType: string;
}

/** OPTIONS of anything. */
export interface OptionsRequest {
  readonly kind: 'options';
  readonly head: RequestHead;
}

const OPENAPI = 'application/openapi+json';
const JSON_TYPE = 'application/json';

/** Throws PGRST107. */
export function parseDescribe(x: Exchange, head: RequestHead): DescribeRequest {
  return { kind: 'describe', head, mediaType: documentType(x.header('accept'), head) };
}

/** As PostgREST: the type of its own unless plain JSON is wanted more. */
function documentType(accept = '*/*', { accepted }: RequestHead): string {
  if (accept === '*/*' || accept === '') return OPENAPI;
  for (const { text, media } of accepted) {
    const name = (text.split(';', 1)[0] ?? '').trimEnd().toLowerCase();
    if (name === OPENAPI || name === '*/*' || name === 'application/*') return OPENAPI;
    if (media?.name === JSON_TYPE) return JSON_TYPE;
  }
  throw notAcceptable(accepted.map(({ text }) => text));
}
