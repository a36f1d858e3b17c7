import { hash } from 'node:crypto';
import { type Exchange, matchesEntityTag } from '../../../http/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { conditionFailed } from '../fault/index.ts';
import { parseIfMatch, taggedVersion, versionIn } from '../request/index.ts';

/** A complete body with its status and type; the headers have been set. */
export interface WholeBody {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Buffer;
  /** The version of the row, if it shows one. */
  readonly version: string | undefined;
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
  /** Of rows that were written. */
  readonly written?: Tagging;
}

/** Compiles `dbrest_etag`. */
export function compileTagging({ etag, rowVersion }: Pick<DbrestConfig, 'etag' | 'rowVersion'>): Taggings {
  if (!etag && rowVersion === undefined) return {};
  const setTag = compileTag(etag);
  return {
    reads: {
      send(x, whole) {
        if (SHOWN.has(whole.status)) sendConditionally(x, whole, setTag(x, whole));
        else sendWhole(x, whole);
      },
      stream(x) {
        requireMatch(x, undefined);
      },
    },
    stored: {
      send(x, whole) {
        if (SHOWN.has(whole.status)) setTag(x, whole);
        sendWhole(x, whole);
      },
      stream: () => undefined,
    },
    written: {
      send(x, whole) {
        if (whole.version !== undefined) setTag(x, whole);
        sendWhole(x, whole);
      },
      stream: () => undefined,
    },
  };
}

/** Statuses of responses to reads that show the resource. */
const SHOWN: ReadonlySet<number> = new Set([200, 206]);

function sendWhole(x: Exchange, { status, contentType, body }: WholeBody): void {
  x.send(status, contentType, body);
}

/** Sets the tag of a body, unless a function has set one, and returns it. `digests`: it has a digest of the body. */
function compileTag(digests: boolean): (x: Exchange, whole: WholeBody) => string | undefined {
  return (x, { contentType, body, version }) => {
    const own = x.response.header('ETag');
    if (own !== undefined) return own;
    const form = `${contentType}\n${x.response.header('Content-Range') ?? ''}\n`;
    const digest = digests ? digestOf(body, form) : undefined;
    const shown = version === undefined ? undefined : taggedVersion(version);
    const parts = shown !== undefined && digest !== undefined ? `${shown}-${digest}` : (shown ?? digest);
    if (parts === undefined) return undefined;
    const tag = `"${parts}"`;
    x.response.setKnownHeader('ETag', tag);
    return tag;
  };
}

/** Copying a text of this length is cheaper than hashing twice. */
const SHORT_CHARACTERS = 4_096;

/**
 * The same bytes in another format, or as another part of the rows, are another representation. A long body is hashed
 * by itself, because a text with something in front of it would be copied first. No text has a NUL.
 */
function digestOf(body: string | Buffer, form: string): string {
  const isShort = typeof body === 'string' && body.length <= SHORT_CHARACTERS;
  return hash('sha1', isShort ? form + body : `${form}\0${hash('sha1', body, 'hex')}`, 'hex');
}

function sendConditionally(x: Exchange, whole: WholeBody, tag: string | undefined): void {
  requireMatch(x, tag, whole.version);
  const noneMatch = x.header('if-none-match');
  if (
    noneMatch === undefined ||
    tag === undefined ||
    !matchesEntityTag(noneMatch, { etag: tag, weak: true })
  ) {
    return sendWhole(x, whole);
  }
  x.errorStatus = 0;
  x.send(304, '', '');
}

/** Throws if `If-Match` names neither the tag nor the version; without them it can only hold as `*`. */
function requireMatch(x: Exchange, tag: string | undefined, version?: string): void {
  const match = x.header('if-match');
  if (match === undefined) return;
  const tags = parseIfMatch(match);
  if (tags === '*') return;
  if (tags.some((one) => `"${one}"` === tag || (version !== undefined && versionIn(one) === version))) return;
  x.response.clear();
  throw conditionFailed('"If-Match" does not name the present state of the resource.');
}
