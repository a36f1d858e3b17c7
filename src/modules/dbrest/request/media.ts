import { notAcceptable } from '../fault/index.ts';

/** Splits `name = value`, ignoring blanks around the first `=`. */
export function pairOf(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  return at < 0 ? [text, ''] : [text.slice(0, at).trimEnd(), text.slice(at + 1).trimStart()];
}

/** The format of a response body. */
type Format = 'json' | 'object' | 'csv' | 'xml' | 'text' | 'binary' | 'geojson' | 'plan' | 'custom';

/** `application/vnd.dbrest.plan`: the execution plan of the request for another media type. */
interface ExplainMedia {
  readonly format: 'text' | 'json';
  readonly options: readonly PlanOption[];
  readonly media: Media;
}

const PLAN_OPTIONS = ['analyze', 'verbose', 'settings', 'buffers', 'wal'] as const;
type PlanOption = (typeof PLAN_OPTIONS)[number];

/** A media type of a response. */
export interface Media {
  readonly format: Format;
  /** Null members are omitted. */
  readonly stripped: boolean;
  /** The requested name, without a character set. */
  readonly name: string;
  readonly plan?: ExplainMedia;
  /** The aggregate function that produces the media type from rows; a value that already has this type needs none. */
  readonly handler?: RowHandler;
}

/** A media handler of the database: an aggregate over rows of one table, or of any. */
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
/** PostgREST's vendor types are accepted as well as gw's. */
const VENDOR = /^application\/vnd\.(pgrst|dbrest)\.(object|array|plan)(?:\+(json|text))?$/;

/** Looks up a media type by its lower-case name and parameters; `undefined` when gw cannot produce it. */
function mediaOf(type: string, parameters: ReadonlyMap<string, string>): Media | undefined {
  const vendor = VENDOR.exec(type);
  if (vendor) return vendorMedia(vendor, parameters);
  const name = WILD.get(type) ?? type;
  const format = PLAIN.get(name);
  if (!format) return undefined;
  return format === 'json' ? json('json', name, parameters) : { format, stripped: false, name };
}

/** A media type that the database produces, by the name of its domain. */
export function customMedia(name: string, handler?: RowHandler): Media {
  const shown = name === ANY ? 'application/octet-stream' : name;
  return { format: 'custom', stripped: false, name: shown, ...(handler && { handler }) };
}

/** Returns whether a media type of the database stands for all media types. */
export function isAny(name: string): boolean {
  return name === ANY;
}

/** Returns whether a media type of the database matches a requested one. */
export function isAsked(name: string, type: string): boolean {
  return name === ANY || name.toLowerCase() === type;
}

/** Returns whether a media type is a vendor type, which media handlers of the database cannot replace. */
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
  const media = json(kind === 'object' ? 'object' : 'json', `${name}+json`, parameters);
  // Without a parameter, an array is plain JSON.
  return media.format === 'json' && !media.stripped ? JSON_MEDIA : media;
}

function json(format: Format, name: string, parameters: ReadonlyMap<string, string>): Media {
  const stripped = parameters.get('nulls') === 'stripped';
  return { format, stripped, name: stripped ? `${name};nulls=stripped` : name };
}

/** Parses the parameters `;for="text/csv";options=analyze|verbose`. */
function planMedia(name: string, parameters: ReadonlyMap<string, string>): Media | undefined {
  const [type = '', ...rest] = (parameters.get('for') ?? 'application/json')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const known = mediaOf(type, new Map(rest.map((pair) => pair.split('=', 2) as [string, string])));
  if (known?.plan) return undefined;
  const asked = new Set(parameters.get('options')?.split('|'));
  const options = PLAN_OPTIONS.filter((option) => asked.has(option));
  const format = name.endsWith('+json') ? 'json' : 'text';
  // Only the schema tells whether the database has a handler for another type.
  return explaining(name, { format, options, media: known ?? customMedia(type) });
}

function explaining(name: string, plan: ExplainMedia): Media {
  const options = plan.options.length > 0 ? `; options=${plan.options.join('|')}` : '';
  return { format: 'plan', stripped: false, name: `${name}; for="${plan.media.name}"${options}`, plan };
}

/** One entry of `Accept`. */
export interface Accepted {
  /** As sent, without its weight. */
  readonly text: string;
  /** Absent if gw cannot produce it, or its weight is 0. */
  readonly media?: Media;
  /** The name in lower case, without parameters; absent if media handlers of the database cannot replace it. */
  readonly type?: string;
}

const JSON_ONLY = { text: JSON_MEDIA.name, media: JSON_MEDIA, type: JSON_MEDIA.name };
const ANYTHING = { ...JSON_ONLY, text: '*/*', type: '*/*' };
// An unclosed quote extends to the end: backtracking would take quadratic time.
const PIECES = /(?:"(?:[^"\\]|\\.)*"?|[^,"])+/g;
const PARAMETERS = /(?:"(?:[^"\\]|\\.)*"?|[^;"])+/g;

/** Parses `Accept`, sorted by weight and then by specificity (RFC 9110, 12.5.1). Without the header: anything. */
export function acceptedMedia(accept: string | undefined): readonly Accepted[] {
  if (accept === undefined || accept === '' || accept === ANYTHING.text) return [ANYTHING];
  if (accept === JSON_ONLY.text) return [JSON_ONLY];
  const ranges = (accept.match(PIECES) ?? []).flatMap((piece) => readRange(piece.trim()) ?? []);
  return ranges.sort((a, b) => b.weight - a.weight || b.exactness - a.exactness);
}

export const OPENAPI_TYPE = 'application/openapi+json';
const DESCRIPTION: Media = { format: 'json', stripped: false, name: OPENAPI_TYPE };

/** An entry of `Accept` where a description may be given as JSON: the OpenAPI type is accepted, too. */
export function withDescription(entry: Accepted): Accepted {
  return entry.type === OPENAPI_TYPE ? { ...entry, media: DESCRIPTION } : entry;
}

/** Chooses the first acceptable media type; media handlers of the database take precedence. Throws PGRST107. */
export function chooseMedia(
  accepted: readonly Accepted[],
  servable: (media: Media) => boolean,
  custom: (type: string) => Media | undefined = () => undefined,
): Media {
  for (const { media, type } of accepted) {
    const made = type === undefined ? undefined : custom(type);
    if (made && !media?.plan) return made;
    const chosen = made && media ? explained(media, made) : media;
    const isUnknown = !made && media?.plan?.media.format === 'custom';
    if (chosen && !isUnknown && servable(chosen)) return chosen;
  }
  throw notAcceptable(accepted.map(({ text }) => text));
}

/** The execution plan of a request for a media type that the database makes. */
function explained({ name, plan }: Media, media: Media): Media {
  return plan ? explaining(name.split(';', 1)[0] as string, { ...plan, media }) : media;
}

interface MediaRange extends Accepted {
  readonly weight: number;
  /** 0 for any type, 1 for any subtype of a type, 2 for a full type. */
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
  const own = ownType(name, media);
  return {
    text,
    weight: Number.isNaN(weight) ? 0 : weight,
    exactness,
    ...(media && { media }),
    ...(weight > 0 && own !== undefined && { type: own }),
  };
}

/** The type that a media handler may replace; for an execution plan the explained one. An array may be named JSON. */
function ownType(name: string, media: Media | undefined): string | undefined {
  const explains = media?.plan?.media;
  if (explains) return ownType(explains.name.split(';', 1)[0] as string, explains);
  if (media === JSON_MEDIA) return media.name;
  return isVendor(name) ? undefined : name;
}

function readParameter(part: string): [name: string, value: string] {
  const [name, value] = pairOf(part);
  return [name.toLowerCase(), value.replace(/^"(.*)"$/s, '$1').replace(/\\(.)/gs, '$1')];
}
