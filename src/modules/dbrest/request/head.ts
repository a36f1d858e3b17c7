import type { LocationFacts } from '../../../contract/index.ts';
import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig, RowLimits } from '../directives/index.ts';
import {
  invalidPath,
  lowerAboveUpper,
  malformedRange,
  methodNotAllowed,
  noRoot,
  notAcceptable,
  notCallable,
  schemaNotExposed,
} from '../fault/index.ts';
import type { ServerFeatures } from '../schema/index.ts';
import {
  honoured,
  isBodyless,
  methodOf,
  NO_PREFERENCES,
  parsePreferences,
  type Precondition,
  preconditionOf,
  type Preferences,
  QUERY,
} from './header-fields.ts';
import {
  type Accepted,
  acceptedMedia,
  type Media,
  OPENAPI_TYPE as OPENAPI,
  withDescription,
} from './media.ts';
import type { ReadQuery } from './tree.ts';

/** The method, resource and headers of a request, checked as far as no schema is needed. */
export interface RequestHead {
  readonly kind: 'read' | 'write' | 'call' | 'describe' | 'options';
  /** `QUERY` also for a POST that stands for it. */
  readonly method: string;
  /** The response needs no body. */
  readonly isBodyless: boolean;
  readonly resource: Resource;
  /** One of `dbrest_schemas`. */
  readonly schema: string;
  readonly accepted: readonly Accepted[];
  readonly preferences: Preferences;
  /** Present only if a header depends on them. */
  readonly features: ServerFeatures | undefined;
  /** The condition of a write. */
  readonly precondition?: Precondition | undefined;
}

/**
 * Parses the path, the method and the headers `Accept-Profile` or `Content-Profile`, `Accept` and `Prefer`. Throws
 * PGRST106, PGRST125, and the fault for a method that the resource does not support.
 */
export function compileHead(
  { schemas, rpc, openapi, root }: DbrestConfig,
  location: LocationFacts,
): (x: Exchange) => RequestHead {
  const resourceOf = resourceResolver(location, rpc);
  const rootCall = root && compileRootCall(root);
  return (x) => {
    const method = methodOf(x);
    const resource = resourceOf(x.uri);
    if (rootCall && resource.kind === 'root' && OF_ROOT.has(method)) return rootCall(x, schemas);
    const kind = kindOf(resource, method, openapi);
    const base = { kind, method, resource, features: undefined };
    if (kind === 'options') {
      const schema = chooseSchema(x.header('content-profile') ?? x.header('accept-profile'), schemas);
      return { ...base, isBodyless: true, schema, accepted: [], preferences: NO_PREFERENCES };
    }
    return {
      ...base,
      isBodyless: isBodyless(x),
      schema: chooseSchema(x.header(READS.has(method) ? 'accept-profile' : 'content-profile'), schemas),
      accepted: acceptedMedia(x.header('accept')),
      preferences: parsePreferences(x.header('prefer')),
      precondition: kind === 'write' ? preconditionOf(x) : undefined,
    };
  };
}

/** Compiles the call of the function of `dbrest_root`. Clients may ask for its JSON as for a description. */
function compileRootCall(root: readonly string[]): (x: Exchange, schemas: readonly string[]) => RequestHead {
  const name = root.at(-1) as string;
  const own = root.length > 1 ? root[0] : undefined;
  const resource = { kind: 'function', name, isRoot: true } as const;
  return (x, schemas) => ({
    kind: 'call',
    method: x.method,
    isBodyless: isBodyless(x),
    resource,
    schema: own ?? chooseSchema(x.header('accept-profile'), schemas),
    accepted: acceptedMedia(x.header('accept')).map(withDescription),
    preferences: parsePreferences(x.header('prefer')),
    features: undefined,
  });
}

const OF_ROOT: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', QUERY]);
const CALLS: ReadonlySet<string> = new Set(['GET', 'HEAD', QUERY, 'POST']);
const OF_TABLES: ReadonlyMap<string, 'read' | 'write'> = new Map([
  ['GET', 'read'],
  ['HEAD', 'read'],
  [QUERY, 'read'],
  ['POST', 'write'],
  ['PUT', 'write'],
  ['PATCH', 'write'],
  ['DELETE', 'write'],
]);

/** The kind of operation of a method on a resource. Throws when the method is not supported. */
function kindOf({ kind }: Resource, method: string, openapi: DbrestConfig['openapi']): RequestHead['kind'] {
  if (method === 'OPTIONS') return 'options';
  switch (kind) {
    case 'root':
      if (openapi === 'off') throw noRoot();
      if (!OF_ROOT.has(method)) throw methodNotAllowed(method, 'OPTIONS,GET,HEAD');
      return 'describe';
    case 'function':
      if (!CALLS.has(method)) throw notCallable(method);
      return 'call';
    case 'table': {
      const operation = OF_TABLES.get(method);
      if (!operation) throw methodNotAllowed(method, [...OF_TABLES.keys()].join(', '));
      return operation;
    }
  }
}

/** Returns whether the headers depend on features of the server. */
export function needsFeatures({ accepted }: RequestHead): boolean {
  return accepted.some(({ media }) => isGeographic(media));
}

function isGeographic(media: Media | undefined): boolean {
  return media?.format === 'geojson' || (media?.plan !== undefined && isGeographic(media.plan.media));
}

/** Drops preferences that cannot be honoured. Throws PGRST122 if the client asked for strict handling. */
export function honouredHead(
  head: RequestHead,
  features: ServerFeatures | undefined,
  mayChooseEnd: boolean,
): RequestHead {
  const preferences = honoured(head.preferences, mayChooseEnd);
  return preferences === head.preferences && !features ? head : { ...head, preferences, features };
}

/** uWebSockets.js treats bytes above 0x7f as blanks and strips them from both ends of a header value. */
const DROPPED = /^[^!-\x7f]+|[^!-\x7f]+$/gu;

/** The schema of a profile header, or the default schema. Throws PGRST106. */
export function chooseSchema(profile: string | undefined, exposed: readonly string[]): string {
  if (profile === undefined) return exposed[0] as string;
  if (exposed.includes(profile)) return profile;
  const [meant, ...others] = exposed.filter((name) => name.replace(DROPPED, '') === profile);
  if (meant === undefined || others.length > 0) throw schemaNotExposed(profile, exposed);
  return meant;
}

/** The requested range of rows; without a limit it has no end. */
export type RowRange = Pick<ReadQuery, 'offset' | 'limit'>;

/** Intersects the ranges of the query, the `Range` header and `dbrest_max_rows`. Throws PGRST100 and PGRST103. */
export function rowRange(query: RowRange, header: string | undefined, maxRows: number | undefined): RowRange {
  const { first, end } = header === undefined ? { first: 0, end: Infinity } : parseRange(header);
  const offset = Math.max(first, query.offset);
  const ends = Math.min(end, query.offset + (query.limit ?? Infinity));
  if (ends < offset || (ends === offset && query.limit !== 0)) throw lowerAboveUpper();
  const limit = Math.min(ends - offset, maxRows ?? Infinity);
  return limit === Infinity ? { offset } : { offset, limit };
}

/** The most rows of a table, view or function; `undefined` if there is no limit. */
export function rowLimitOf(limits: RowLimits | undefined, name: string): number | undefined {
  return limits?.named.find(([each]) => each === name)?.[1] ?? limits?.usual;
}

/** Parses `0-9` or `10-`, with or without the unit. */
function parseRange(header: string): { first: number; end: number } {
  const [, first, last] = /^(?:items=)?(\d{1,15})-(\d{0,15})$/.exec(header.trim()) ?? [];
  if (first === undefined) throw malformedRange(header);
  const end = last ? Number(last) + 1 : Infinity;
  if (end <= Number(first)) throw lowerAboveUpper();
  return { first: Number(first), end };
}

/** The resource that a path names. */
export interface Resource {
  readonly kind: 'root' | 'table' | 'function';
  /** Empty for the root. */
  readonly name: string;
  /** The function of `dbrest_root`, which is served at the root. */
  readonly isRoot?: boolean;
}

const ROOT: Resource = { kind: 'root', name: '' };

/**
 * Compiles the mapping from paths to resources. Below a prefix location a path has one segment, or two if the first is
 * `rpc`; in other locations the last segment counts. Throws PGRST125.
 */
function resourceResolver(
  { kind, path }: LocationFacts,
  rpc: DbrestConfig['rpc'],
): (uri: string) => Resource {
  const only = functionPath({ path }, rpc) === '/' ? 'function' : undefined;
  const restOf =
    kind === 'prefix'
      ? (uri: string) => uri.slice(path.length).replace(/^\//, '')
      : (uri: string) => uri.slice(uri.lastIndexOf('/') + 1);
  return (uri) => {
    const rest = restOf(uri);
    if (rest === '') return ROOT;
    if (!rest.includes('/')) return { kind: only ?? 'table', name: rest };
    const [, called] = rpc === 'off' || only ? [] : (/^rpc\/([^/]+)$/.exec(rest) ?? []);
    if (called === undefined) throw invalidPath();
    return { kind: 'function', name: called };
  };
}

/** The path of the batches of a location; `undefined` if it has none. Only prefix locations have paths below them. */
export function batchPath(
  { kind, path }: Pick<LocationFacts, 'kind' | 'path'>,
  { batch, rpc }: Pick<DbrestConfig, 'batch' | 'rpc'>,
): string | undefined {
  if (!batch || kind !== 'prefix') return undefined;
  return `${path.replace(/\/$/, '')}${functionPath({ path }, rpc) === '/' ? '/' : '/rpc/'}batch`;
}

/** The path of the tools of a location; `undefined` if it has none. */
export function mcpPath(
  { kind, path }: Pick<LocationFacts, 'kind' | 'path'>,
  { mcp }: Pick<DbrestConfig, 'mcp'>,
): string | undefined {
  return mcp === 'off' || kind !== 'prefix' ? undefined : `${path.replace(/\/$/, '')}/mcp`;
}

/** The path between a location and the name of a function: `/` if all paths are functions, `undefined` without any. */
export function functionPath(
  { path }: Pick<LocationFacts, 'path'>,
  rpc: DbrestConfig['rpc'],
): '/rpc/' | '/' | undefined {
  if (rpc === 'on' || (rpc === 'auto' && /\/rpc\/?$/.test(path))) return '/';
  return rpc === 'off' ? undefined : '/rpc/';
}

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

/** Parses a request for a description; `usual` is the version if it names none. Throws PGRST107. */
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

/** The media type of the description: `application/openapi+json` unless another is preferred. JSON as in PostgREST. */
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
