import type { Exchange } from '../../../http/index.ts';
import { notAcceptable } from '../fault/index.ts';
import type { RequestHead } from './head.ts';
import { OPENAPI_TYPE as OPENAPI } from './media.ts';

/** A GET or HEAD request for the root. */
export interface DescribeRequest {
  readonly kind: 'describe';
  readonly head: RequestHead;
  /** `types`: the types of all schemas that are served, from which `gw types` writes TypeScript. */
  readonly document: 'openapi' | 'types';
  readonly mediaType: string;
}

/** An OPTIONS request. */
export interface OptionsRequest {
  readonly kind: 'options';
  readonly head: RequestHead;
}

const JSON_TYPE = 'application/json';
/** The media type of the description from which `gw types` writes TypeScript. */
export const TYPES_MEDIA = 'application/vnd.dbrest.types+json';

/** Parses a request for a description. Throws PGRST107. */
export function parseDescribe(x: Exchange, head: RequestHead): DescribeRequest {
  const mediaType = documentType(x.header('accept'), head);
  return { kind: 'describe', head, mediaType, document: mediaType === TYPES_MEDIA ? 'types' : 'openapi' };
}

/** The media type of the description: `application/openapi+json` unless another one is preferred; JSON as in PostgREST. */
function documentType(accept = '*/*', { accepted }: RequestHead): string {
  if (accept === '*/*' || accept === '') return OPENAPI;
  for (const { text, media } of accepted) {
    const name = (text.split(';', 1)[0] ?? '').trimEnd().toLowerCase();
    if (name === OPENAPI || name === '*/*' || name === 'application/*') return OPENAPI;
    if (name === TYPES_MEDIA) return TYPES_MEDIA;
    if (media?.name === JSON_TYPE) return JSON_TYPE;
  }
  throw notAcceptable(accepted.map(({ text }) => text));
}
