import { notAcceptable } from '../fault/index.ts';
import type { Media } from './media.ts';
import { isVendor, JSON_MEDIA, mediaOf } from './media.ts';
import { pairOf } from './pair.ts';

/** What a client takes, the dearest first. */
export interface Accepted {
  /** As asked, without its weight. */
  readonly text: string;
  /** Absent: nothing here can be it, or the client refuses it. */
  readonly media?: Media;
  /** In lower case, without parameters; absent where what the database makes cannot take its place. */
  readonly type?: string;
}

const JSON_ONLY = { text: JSON_MEDIA.name, media: JSON_MEDIA, type: JSON_MEDIA.name };
const ANYTHING = { ...JSON_ONLY, text: '*/*', type: '*/*' };
// A quote that is not closed reaches to the end: to look for another way to read it would take quadratic time.
const PIECES = /(?:"(?:[^"\\]|\\.)*"?|[^,"])+/g;
const PARAMETERS = /(?:"(?:[^"\\]|\\.)*"?|[^;"])+/g;

/** The `Accept` header by weight, then by how exactly it names a type (RFC 9110, 12.5.1). Without one: JSON. */
export function acceptedMedia(accept: string | undefined): readonly Accepted[] {
  if (accept === undefined || accept === '' || accept === ANYTHING.text) return [ANYTHING];
  if (accept === JSON_ONLY.text) return [JSON_ONLY];
  const ranges = (accept.match(PIECES) ?? []).flatMap((piece) => readRange(piece.trim()) ?? []);
  return ranges.sort((a, b) => b.weight - a.weight || b.exactness - a.exactness);
}

/** The first that can be served, by the database's own means where it has them. Throws PGRST107. */
export function chooseMedia(
  accepted: readonly Accepted[],
  servable: (media: Media) => boolean,
  custom: (type: string) => Media | undefined = () => undefined,
): Media {
  for (const { media, type } of accepted) {
    const made = type === undefined ? undefined : custom(type);
    if (made) return made;
    if (media && servable(media)) return media;
  }
  throw notAcceptable(accepted.map(({ text }) => text));
}

interface Range extends Accepted {
  readonly weight: number;
  /** 0 for any type, 1 for any of a family, 2 for one. */
  readonly exactness: number;
}

function readRange(piece: string): Range | undefined {
  const [type = '', ...rest] = (piece.match(PARAMETERS) ?? []).map((part) => part.trim());
  if (type === '') return undefined;
  const parameters = new Map(rest.map(readParameter));
  const weight = Number(parameters.get('q') ?? 1);
  const name = type.toLowerCase();
  const text = [type, ...rest.filter((part) => !/^q\s*=/i.test(part))].join(';');
  const media = weight > 0 ? mediaOf(name, parameters) : undefined;
  const exactness = name === '*/*' ? 0 : name.endsWith('/*') ? 1 : 2;
  const own = weight > 0 && !isVendor(name) ? { type: name } : {};
  return { text, weight: Number.isNaN(weight) ? 0 : weight, exactness, ...(media && { media }), ...own };
}

function readParameter(part: string): [name: string, value: string] {
  const [name, value] = pairOf(part);
  return [name.toLowerCase(), value.replace(/^"(.*)"$/s, '$1').replace(/\\(.)/gs, '$1')];
}
