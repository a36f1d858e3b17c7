import { hash } from 'node:crypto';
import { type Exchange, matchesEntityTag } from '../../../http/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { conditionFailed } from '../fault/index.ts';
import { parseIfMatch } from '../request/index.ts';

/** A complete body with its status and type; the headers have been set. */
export interface WholeBody {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Buffer;
}

/** Sends bodies with their entity tags. */
export interface Tagging {
  /** Sends a complete body, or 304 instead. Throws DBREST101 and DBREST103. */
  send(x: Exchange, whole: WholeBody): void;
  /** Called before a body is streamed, whose tag is not known. Throws DBREST101 and DBREST103. */
  stream(x: Exchange): void;
}

/** The tags of the responses of a location; a member is absent where responses have none. */
interface Taggings {
  /** Of reads, with the conditions of the request. */
  readonly reads?: Tagging;
  /** Of reads whose response is stored: the conditions are evaluated when it is sent. */
  readonly stored?: Tagging;
}

/** Compiles `dbrest_etag`. */
export function compileTagging({ etag }: Pick<DbrestConfig, 'etag'>): Taggings {
  if (!etag) return {};
  return {
    reads: {
      send(x, whole) {
        if (isTagged(whole)) sendConditionally(x, whole, setTag(x, whole));
        else sendWhole(x, whole);
      },
      stream(x) {
        requireMatch(x, undefined);
      },
    },
    stored: {
      send(x, whole) {
        if (isTagged(whole)) setTag(x, whole);
        sendWhole(x, whole);
      },
      stream: () => undefined,
    },
  };
}

function isTagged({ status }: WholeBody): boolean {
  return status === 200 || status === 206;
}

function sendWhole(x: Exchange, { status, contentType, body }: WholeBody): void {
  x.send(status, contentType, body);
}

/** Sets the tag of a body, unless a function has set one, and returns it. */
function setTag(x: Exchange, { contentType, body }: WholeBody): string {
  const own = x.response.header('ETag');
  if (own !== undefined) return own;
  const tag = `"${digestOf(body, `${contentType}\n${x.response.header('Content-Range') ?? ''}\n`)}"`;
  x.response.setHeader('ETag', tag);
  return tag;
}

/**
 * The same bytes in another format, or as another part of the rows, are another representation. The body is hashed by itself,
 * because a text with something in front of it would be copied first.
 */
function digestOf(body: string | Buffer, form: string): string {
  return hash('sha1', form + hash('sha1', body, 'hex'), 'hex');
}

function sendConditionally(x: Exchange, whole: WholeBody, tag: string): void {
  requireMatch(x, tag);
  const noneMatch = x.header('if-none-match');
  if (noneMatch === undefined || !matchesEntityTag(noneMatch, { etag: tag, weak: true })) {
    return sendWhole(x, whole);
  }
  x.errorStatus = 0;
  x.send(304, '', '');
}

/** Throws if `If-Match` does not name the tag; without a tag, it can only hold as `*`. */
function requireMatch(x: Exchange, tag: string | undefined): void {
  const match = x.header('if-match');
  if (match === undefined) return;
  const tags = parseIfMatch(match);
  if (tags === '*' || tags.some((opaque) => `"${opaque}"` === tag)) return;
  x.response.clear();
  throw conditionFailed('"If-Match" does not name the present state of the resource.');
}
