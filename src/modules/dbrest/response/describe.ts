import { LRUCache } from 'lru-cache';
import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { type ApiFacts, writeDocument } from '../openapi/index.ts';
import type { PlannedDescription, PlannedOptions } from '../plan/index.ts';
import type { DescribeRequest } from '../request/index.ts';
import { EVERY_RIGHT, type Rights, rightsOf, type Schema } from '../schema/index.ts';
import { inSlices } from '../turn.ts';
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
      const url = config.openapiServer ?? relativeUrl(x.request.requestUri);
      const contentType = said.contentType ?? `${plan.request.mediaType}; charset=utf-8`;
      x.send(said.status, contentType, plan.request.document === 'types' ? body : withServer(body, url));
    },
  };
}

/** The first members of the OpenAPI document depend on the request. */
function withServer(body: Buffer, url: string): Buffer {
  const head = Buffer.from(`{"openapi":"3.1.0","servers":[{"url":${JSON.stringify(url)}}],`);
  return Buffer.concat([head, body]);
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
    // The types are those of all schemas.
    const subject = request.document === 'types' ? '' : request.head.schema;
    const key = JSON.stringify(this.#ignoresRights ? [subject] : [subject, role]);
    const kept = this.#byKey.get(key);
    if (kept) return kept;
    const rights = this.#ignoresRights ? EVERY_RIGHT : rightsOf(role, known);
    const document = this.#write(request, known, rights);
    this.#byKey.set(key, document);
    document.catch(() => this.#byKey.delete(key));
    return document;
  }

  #write({ document, head }: DescribeRequest, known: Schema, rights: Rights): Promise<Buffer> {
    return document === 'types'
      ? inSlices(writeTypes({ known, schemas: this.#api.schemas, rights }))
      : inSlices(writeDocument({ known, schema: head.schema, rights, api: this.#api }));
  }
}
