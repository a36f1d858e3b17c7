import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { notAcceptable } from '../fault/index.ts';
import type { RequestHead } from './head.ts';
import { OPENAPI_TYPE as OPENAPI } from './media.ts';

/** A GET or HEAD request for the root. */
export interface DescribeRequest {
  readonly kind: 'describe';
  readonly head: RequestHead;
  /**
   * `swagger`: OpenAPI 2.0. `types`: the types of all schemas that are served, from which `gw types` writes TypeScript.
   */
  readonly document: 'openapi' | 'swagger' | 'types';
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

const SWAGGER = `${OPENAPI};version=2.0`;
/** The version of OpenAPI that a media range asks for. */
const VERSION = /; *version *= *"?(\d)(?:\.\d+)*"?/i;

/** Parses a request for a description; `usual` is the version for those that ask for none. Throws PGRST107. */
export function parseDescribe(
  x: Exchange,
  head: RequestHead,
  usual: DbrestConfig['openapiVersion'],
): DescribeRequest {
  const { type, version = usual } = documentType(x.header('accept'), head);
  if (type === TYPES_MEDIA) return { kind: 'describe', head, mediaType: type, document: 'types' };
  const isOld = version.startsWith('2');
  const mediaType = isOld && type === OPENAPI ? SWAGGER : type;
  return { kind: 'describe', head, mediaType, document: isOld ? 'swagger' : 'openapi' };
}

interface DocumentType {
  readonly type: string;
  readonly version?: string;
}

/** The media type of the description: `application/openapi+json` unless another one is preferred; JSON as in PostgREST. */
function documentType(accept = '*/*', { accepted }: RequestHead): DocumentType {
  if (accept === '*/*' || accept === '') return { type: OPENAPI };
  for (const { text, media } of accepted) {
    const name = (text.split(';', 1)[0] ?? '').trimEnd().toLowerCase();
    const [, version] = VERSION.exec(text) ?? [];
    if (name === OPENAPI) return { type: OPENAPI, ...(version !== undefined && { version }) };
    if (name === '*/*' || name === 'application/*') return { type: OPENAPI };
    if (name === TYPES_MEDIA) return { type: TYPES_MEDIA };
    if (media?.name === JSON_TYPE) return { type: JSON_TYPE };
  }
  throw notAcceptable(accepted.map(({ text }) => text));
}
