import { versionColumn } from '../plan/index.ts';
import {
  BATCH_PATH,
  CONDITION_PARAMETERS,
  ERROR,
  FILTER_SCHEMA,
  FILTER_SCHEMA_NAME,
  profileParameters,
  SHARED_PARAMETERS,
  SHARED_RESPONSES,
  withConditions,
} from './components.ts';
import { QUERY, QUERY_TYPE, TYPES_MEDIA } from '../request/index.ts';
import {
  callable,
  functionPath,
  type Overloads,
  type Profiles,
  rowFilters,
  rowsResponse,
  tablePath,
} from './paths.ts';
import { componentName, type JsonSchema, MemberWriter, type TypeContext } from './json-schema.ts';
import { type DescriptionSubject, infoOf, shownTables } from './subject.ts';
import { type ShownTable, tableSchemas } from './tables.ts';

export type { JsonSchema } from './json-schema.ts';
export { argumentsSchema, callable, type Overloads } from './paths.ts';
export { apiFacts, type ApiFacts } from './subject.ts';
export { writeSwagger } from './swagger.ts';
export { nestedMembers, showTable, type ShownTable } from './tables.ts';

/**
 * Writes an OpenAPI 3.1 document as JSON without its first members, which depend on the request: the result follows
 * `{"openapi":"3.1.0","servers":[…],`. Yields after each table and function, because a database may have thousands.
 */
export function* writeDocument(subject: DescriptionSubject): Generator<undefined, Buffer> {
  const isOpen = subject.rights.usesSchema(subject.schema);
  const tables = yield* shownTables(subject);
  const draft = new DocumentDraft(subject, tables);
  for (const shown of tables) {
    draft.addTable(shown);
    yield;
  }
  for (const overloads of isOpen ? draft.functions : []) {
    draft.addFunctions(overloads);
    yield;
  }
  return draft.finish();
}

const DOCUMENT = { schema: { type: 'object' } };
const ROOT_PATH = {
  get: {
    tags: ['Introspection'],
    summary: 'OpenAPI description (this document)',
    responses: {
      200: {
        description: 'OK',
        content: {
          'application/openapi+json': DOCUMENT,
          'application/json': DOCUMENT,
          [TYPES_MEDIA]: DOCUMENT,
        },
      },
      default: ERROR,
    },
  },
};

/** OpenAPI 3.1 has no operation for the method QUERY. */
const QUERY_NOTE = `${QUERY} reads as GET does, with the parameters as content of the type ${QUERY_TYPE}.`;

/** Adds a note to a path that can be read: it also takes a QUERY. */
function withQuery(path: JsonSchema): JsonSchema {
  return 'get' in path ? { description: QUERY_NOTE, ...path } : path;
}

/** Collects the paths and components of a document. */
class DocumentDraft {
  readonly functions: readonly Overloads[];
  readonly #subject: DescriptionSubject;
  readonly #context: TypeContext;
  readonly #profiles: Profiles;
  readonly #paths = new MemberWriter();
  readonly #schemas = new MemberWriter();
  readonly #parameters = new MemberWriter();
  readonly #responses = new MemberWriter();

  constructor(subject: DescriptionSubject, tables: readonly ShownTable[]) {
    const { known, schema, api, rights } = subject;
    this.#subject = subject;
    this.functions = api.functionPath === undefined ? [] : callable(known.functions?.get(schema), rights);
    const names = new Set(tables.map(({ table }) => table.name));
    const insertable = new Set(tables.flatMap(({ table, methods }) => (methods.post ? [table.name] : [])));
    const nests = (of: string, table: string): boolean => of === schema && insertable.has(table);
    this.#context = {
      known,
      hasComponent: (of, table) => of === schema && names.has(table),
      nests: api.nestedInsert ? nests : undefined,
    };
    const profiles = profileParameters(api.schemas);
    const profile = (name: string) => (name in profiles ? [{ $ref: `#/components/parameters/${name}` }] : []);
    this.#profiles = {
      read: profile('acceptProfile'),
      write: profile('contentProfile'),
      grouping: api.aggregates ? ['having', 'distinct'] : ['distinct'],
    };
    this.#paths.add('/', ROOT_PATH);
    if (api.batchPath !== undefined) this.#paths.add(api.batchPath, BATCH_PATH);
    this.#schemas.add(FILTER_SCHEMA_NAME, FILTER_SCHEMA);
    this.#parameters.addAll(Object.entries({ ...SHARED_PARAMETERS, ...profiles }));
    if (api.etag || api.rowVersion !== undefined)
      this.#parameters.addAll(Object.entries(CONDITION_PARAMETERS));
    this.#responses.addAll(Object.entries(SHARED_RESPONSES));
  }

  addTable(shown: ShownTable): void {
    const { name } = shown.table;
    this.#schemas.addAll(tableSchemas(shown, this.#context));
    if (!this.#subject.api.hasTables) return;
    const response = rowsResponse(shown);
    if (response) this.#responses.add(componentName(name), response);
    this.#parameters.addAll(rowFilters(shown));
    const { api } = this.#subject;
    const conditions = {
      hasTags: api.etag,
      hasVersions: versionColumn(shown.table, api) !== undefined,
    };
    this.#paths.add(
      `/${encodeURIComponent(name)}`,
      withQuery(withConditions(tablePath(shown, this.#profiles), conditions)),
    );
  }

  addFunctions(overloads: Overloads): void {
    const { batchPath: hiding } = this.#subject.api;
    const path = `${this.#subject.api.functionPath}${encodeURIComponent(overloads[0]?.name ?? '')}`;
    // A batch hides the function of its name.
    if (path === hiding) return;
    const operations = functionPath(overloads, this.#context, this.#profiles);
    this.#paths.add(
      path,
      withQuery(withConditions(operations, { hasTags: this.#subject.api.etag, hasVersions: false })),
    );
  }

  finish(): Buffer {
    const { hasTokens, isOpen } = this.#subject.api;
    const security = [...(isOpen ? [{}] : []), ...(hasTokens ? [{ JWT: [] }] : [])];
    const scheme = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' };
    const components = new MemberWriter();
    components.addMembers('schemas', this.#schemas);
    components.addMembers('parameters', this.#parameters);
    components.addMembers('responses', this.#responses);
    if (hasTokens) components.add('securitySchemes', { JWT: scheme });
    const whole = new MemberWriter();
    whole.add('info', infoOf(this.#subject));
    if (hasTokens) whole.add('security', security);
    whole.addMembers('paths', this.#paths);
    whole.addMembers('components', components);
    return Buffer.concat([...whole.pieces(), Buffer.from('}')]);
  }
}
