import { LRUCache } from 'lru-cache';
import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { type ApiFacts, writeDocument, writeSwagger } from '../openapi/index.ts';
import type { PlannedDescription, PlannedOptions } from '../plan/index.ts';
import { type DescribeRequest, QUERY, QUERY_TYPE } from '../request/index.ts';
import { EVERY_RIGHT, type Rights, rightsOf, type Schema } from '../schema/index.ts';
import { inSlices } from '../event-loop.ts';
import { writeTypes } from '../types/index.ts';
import { type OpenResponse, type ResponseParts, setHead, setTiming, settingsOf } from './head.ts';

/** Cached descriptions, one per role and schema. */
const MOST_DOCUMENTS = 16;

/** The response to GET and HEAD of the root: the OpenAPI 3.1 description or types, limited to what the role may use. */
export function respondToDescribe(
  x: Exchange,
  plan: PlannedDescription,
  { config, statements, stopwatch, documents }: ResponseParts & { readonly documents: Documents },
): OpenResponse {
  return {
    async end(results) {
      stopwatch?.lap('transaction');
      const body = await documents.of(plan);
      const chosen = settingsOf(statements, results);
      const said = setHead(x, { status: 200, own: [], chosen }, { plan, config, stopwatch });
      const contentType = said.contentType ?? `${plan.request.mediaType}; charset=utf-8`;
      x.send(said.status, contentType, Buffer.concat([headOf(plan.request.document, x, config), body]));
    },
  };
}

/** The first members of the OpenAPI document depend on the request. */
function headOf(
  document: DescribeRequest['document'],
  { request: { requestUri } }: Exchange,
  { openapiServer }: DbrestConfig,
): Buffer {
  if (document === 'types') return Buffer.alloc(0);
  if (document === 'openapi') {
    const url = openapiServer ?? relativeUrl(requestUri);
    return Buffer.from(`{"openapi":"3.1.0","servers":[{"url":${JSON.stringify(url)}}],`);
  }
  // Without a host, clients use the one that serves the document.
  const server = openapiServer === undefined ? undefined : new URL(openapiServer);
  const path = server?.pathname ?? requestUri.replace(/[?#].*$/s, '');
  const members = {
    swagger: '2.0',
    ...(server && { host: server.host, schemes: [server.protocol.slice(0, -1)] }),
    basePath: path.replace(/(.)\/$/, '$1'),
  };
  return Buffer.from(`${JSON.stringify(members).slice(0, -1)},`);
}

/** Sends the response to OPTIONS. */
export function respondToOptions(
  x: Exchange,
  { request, methods }: PlannedOptions,
  { config, stopwatch }: Pick<ResponseParts, 'config' | 'stopwatch'>,
): void {
  if (config.schemas.length > 1) x.response.setHeader('Content-Profile', request.head.schema);
  // PostgREST sends this header with or without an `Origin`.
  if (config.corsOrigins === '*') x.response.setHeader('Access-Control-Allow-Origin', '*');
  x.response.setHeader('Allow', methods.join(','));
  if (methods.includes(QUERY)) x.response.setHeader('Accept-Query', `"${QUERY_TYPE}"`);
  setTiming(x, stopwatch);
  x.send(200, '', '');
}

/** The URL of the location, relative to the document, so that it is right behind any proxy. */
function relativeUrl(requestUri: string): string {
  const path = requestUri.replace(/[?#].*$/s, '');
  const own = path.endsWith('/') ? path.slice(0, -1) : path;
  const name = own.slice(own.lastIndexOf('/') + 1);
  return name === '' ? './' : `${own === path ? './' : '../'}${name}`;
}

/** The cache of descriptions of one location, cleared when the schema changes. */
export class Documents {
  readonly #ignoresRights: boolean;
  readonly #api: ApiFacts;
  #known: Schema | undefined;
  readonly #byKey = new LRUCache<string, Promise<Buffer>>({ max: MOST_DOCUMENTS });

  constructor({ openapi }: DbrestConfig, api: ApiFacts) {
    this.#ignoresRights = openapi === 'ignore-privileges';
    this.#api = api;
  }

  of({ known, role, request }: PlannedDescription): Promise<Buffer> {
    if (known !== this.#known) this.#byKey.clear();
    this.#known = known;
    // A description of types covers all schemas.
    const subject = request.document === 'types' ? '' : request.head.schema;
    const key = JSON.stringify([request.document, subject, ...(this.#ignoresRights ? [] : [role])]);
    const kept = this.#byKey.get(key);
    if (kept) return kept;
    const rights = this.#ignoresRights ? EVERY_RIGHT : rightsOf(role, known);
    const document = this.#write(request, known, rights);
    this.#byKey.set(key, document);
    document.catch(() => this.#byKey.delete(key));
    return document;
  }

  #write({ document, head }: DescribeRequest, known: Schema, rights: Rights): Promise<Buffer> {
    if (document === 'types') {
      const { schemas, nestedInsert: nests } = this.#api;
      return inSlices(writeTypes({ known, schemas, rights, nests }));
    }
    const subject = { known, schema: head.schema, rights, api: this.#api };
    return inSlices(document === 'swagger' ? writeSwagger(subject) : writeDocument(subject));
  }
}
