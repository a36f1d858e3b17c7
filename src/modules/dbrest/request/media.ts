import { notAcceptable } from '../fault/index.ts';

/** `name = value` in two; blanks around the first `=` do not count. */
export function pairOf(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  return at < 0 ? [text, ''] : [text.slice(0, at).trimEnd(), text.slice(at + 1).trimStart()];
}

/** What the body of a response is made of. */
type Format = 'json' | 'object' | 'csv' | 'xml' | 'text' | 'binary' | 'geojson' | 'plan' | 'custom';

/** `application/vnd.dbrest.plan`: how the database would run it. */
export interface ExplainMedia {
  readonly format: 'text' | 'json';
  readonly options: readonly PlanOption[];
  readonly media: Media;
}

const PLAN_OPTIONS = ['analyze', 'verbose', 'settings', 'buffers', 'wal'] as const;
type PlanOption = (typeof PLAN_OPTIONS)[number];

/** One way to respond. */
export interface Media {
  readonly format: Format;
  /** Members that are null are left out. */
  readonly stripped: boolean;
  /** The name that was asked for, without the character set. */
  readonly name: string;
  readonly plan?: ExplainMedia;
  /** The aggregate of the database that makes it of rows; a value that already is of this type needs none. */
  readonly handler?: RowHandler;
}

/** An aggregate over rows: those of one table, or any. */
export interface RowHandler {
  readonly schema: string;
  readonly name: string;
  readonly table?: { readonly schema: string; readonly name: string };
}

const JSON_MEDIA: Media = { format: 'json', stripped: false, name: 'application/json' };

const PLAIN: ReadonlyMap<string, Format> = new Map([
  ['application/json', 'json'],
  ['application/geo+json', 'geojson'],
  ['application/octet-stream', 'binary'],
  ['text/csv', 'csv'],
  ['text/xml', 'xml'],
  ['text/plain', 'text'],
]);
const ANY = '*/*';
const WILD: ReadonlyMap<string, string> = new Map([
  ['*/*', 'application/json'],
  ['application/*', 'application/json'],
  ['text/*', 'text/csv'],
]);
/** Both names: PostgREST's clients ask for theirs. */
const VENDOR = /^application\/vnd\.(pgrst|dbrest)\.(object|array|plan)(?:\+(json|text))?$/;

/** A media range by its lower-case type and parameters; `undefined` when nothing here can be it. */
function mediaOf(type: string, parameters: ReadonlyMap<string, string>): Media | undefined {
  const vendor = VENDOR.exec(type);
  if (vendor) return vendorMedia(vendor, parameters);
  const name = WILD.get(type) ?? type;
  const format = PLAIN.get(name);
  if (!format) return undefined;
  return format === 'json' ? json('json', name, parameters) : { format, stripped: false, name };
}

/** A media type that the database makes, by the name of its domain. */
export function customMedia(name: string, handler?: RowHandler): Media {
  const shown = name === ANY ? 'application/octet-stream' : name.toLowerCase();
  return { format: 'custom', stripped: false, name: shown, ...(handler && { handler }) };
}

/** Whether a media type of the database is what a client asks for. */
export function isAsked(name: string, type: string): boolean {
  return name === ANY || name.toLowerCase() === type;
}

/** `Content-Type` of a response; bytes have no character set. */
export function contentType({ format, name }: Media): string {
  const isBytes = format === 'binary' || (format === 'custom' && !name.startsWith('text/'));
  return isBytes ? name : `${name}; charset=utf-8`;
}

/** Whether a media type is one of PostgREST's own, with its parameters: no other can take its place. */
function isVendor(type: string): boolean {
  return VENDOR.test(type);
}

function vendorMedia(
  [, vendor, kind, suffix]: RegExpExecArray,
  parameters: ReadonlyMap<string, string>,
): Media | undefined {
  const name = `application/vnd.${vendor}.${kind}`;
  if (kind === 'plan') return planMedia(`${name}+${suffix ?? 'text'}`, parameters);
  if (suffix === 'text') return undefined;
  return json(kind === 'object' ? 'object' : 'json', `${name}+json`, parameters);
}

function json(format: Format, name: string, parameters: ReadonlyMap<string, string>): Media {
  const stripped = parameters.get('nulls') === 'stripped';
  return { format, stripped, name: stripped ? `${name};nulls=stripped` : name };
}

/** `;for="text/csv";options=analyze|verbose`. */
function planMedia(name: string, parameters: ReadonlyMap<string, string>): Media | undefined {
  const [type = '', ...rest] = (parameters.get('for') ?? 'application/json')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const media = mediaOf(type, new Map(rest.map((pair) => pair.split('=', 2) as [string, string])));
  if (!media || media.plan) return undefined;
  const asked = new Set(parameters.get('options')?.split('|'));
  const options = PLAN_OPTIONS.filter((option) => asked.has(option));
  const format = name.endsWith('+json') ? 'json' : 'text';
  const shown = `${name}; for="${media.name}"${options.length > 0 ? `; options=${options.join('|')}` : ''}`;
  return { format: 'plan', stripped: false, name: shown, plan: { format, options, media } };
}

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

interface MediaRange extends Accepted {
  readonly weight: number;
  /** 0 for any type, 1 for any of a family, 2 for one. */
  readonly exactness: number;
}

function readRange(piece: string): MediaRange | undefined {
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
