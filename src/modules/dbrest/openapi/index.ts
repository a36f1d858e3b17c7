import type { LocationFacts } from '../../../contract/index.ts';
import { versionColumn } from '../plan/index.ts';
import { CONDITION_PARAMETERS, withConditions } from './conditions.ts';
import { VERSION } from '../../../version.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { batchPath, functionPath as functionPathOf, TYPES_MEDIA } from '../request/index.ts';
import type { Rights, Schema } from '../schema/index.ts';
import {
  ERROR,
  FILTER_SCHEMA,
  FILTER_SCHEMA_NAME,
  profileParameters,
  SHARED_PARAMETERS,
  SHARED_RESPONSES,
} from './components.ts';
import { BATCH_PATH } from './batch.ts';
import {
  callable,
  functionPath,
  type Overloads,
  type Profiles,
  rowFilters,
  rowsResponse,
  tablePath,
} from './paths.ts';
import { type ShownTable, showTable, tableSchemas } from './tables.ts';
import { componentName, splitComment, type TypeContext } from './json-schema.ts';

export type { JsonSchema } from './json-schema.ts';
export { argumentsSchema, callable, type Overloads } from './paths.ts';
export { showTable, type ShownTable } from './tables.ts';

const PIECE_CHARACTERS = 65_536;

/** Writes the members of a JSON object as bytes, so that no large text has to be encoded at the end. */
class MemberWriter {
  readonly #pieces: Buffer[] = [];
  #text = '';
  #isEmpty = true;

  add(name: string, value: object): void {
    this.#begin(name);
    this.#text += JSON.stringify(value);
    if (this.#text.length > PIECE_CHARACTERS) this.#flush();
  }

  addAll(entries: Iterable<readonly [name: string, value: object]>): void {
    for (const [name, value] of entries) this.add(name, value);
  }

  /** Adds a nested object, whose members must be complete. */
  addMembers(name: string, members: MemberWriter): void {
    this.#begin(name);
    this.#text += '{';
    this.#flush();
    this.#pieces.push(...members.pieces());
    this.#text += '}';
  }

  pieces(): readonly Buffer[] {
    this.#flush();
    return this.#pieces;
  }

  #begin(name: string): void {
    this.#text += `${this.#isEmpty ? '' : ','}${JSON.stringify(name)}:`;
    this.#isEmpty = false;
  }

  #flush(): void {
    this.#pieces.push(Buffer.from(this.#text));
    this.#text = '';
  }
}

/** The input of a description. */
interface DescriptionSubject {
  readonly known: Schema;
  /** One of `dbrest_schemas`. */
  readonly schema: string;
  readonly rights: Rights;
  readonly api: ApiFacts;
}

/** The properties of an API that follow from the configuration. */
export interface ApiFacts {
  readonly schemas: readonly string[];
  readonly hasTables: boolean;
  /** The path before the name of a function; absent if the location serves no functions. */
  readonly functionPath?: '/rpc/' | '/';
  /** The path of batches below the location, if it has them. */
  readonly batchPath?: string;
  /** True if tokens are verified. */
  readonly hasTokens: boolean;
  /** True if requests without a token have a role. */
  readonly isOpen: boolean;
  readonly etag: boolean;
  readonly rowVersion: string | undefined;
}

/** The properties of the API of a location. */
export function apiFacts(config: DbrestConfig, location: Pick<LocationFacts, 'kind' | 'path'>): ApiFacts {
  const { schemas, rpc, jwtKeys, anonRole, etag, rowVersion } = config;
  const path = functionPathOf(location, rpc);
  const batches = batchPath(location, config)?.slice(location.path.replace(/\/$/, '').length);
  return {
    schemas,
    hasTables: path !== '/',
    ...(path !== undefined && { functionPath: path }),
    ...(batches !== undefined && { batchPath: batches }),
    hasTokens: jwtKeys !== undefined,
    isOpen: anonRole !== undefined || jwtKeys === undefined,
    etag,
    rowVersion,
  };
}

/**
 * Writes an OpenAPI 3.1 document as JSON without its first members, which depend on the request: the result follows
 * `{"openapi":"3.1.0","servers":[…],`. Yields after each table and function, because a database may have thousands.
 */
export function* writeDocument(subject: DescriptionSubject): Generator<undefined, Buffer> {
  const { known, schema, rights } = subject;
  const tables: ShownTable[] = [];
  const isOpen = rights.usesSchema(schema);
  for (const table of (isOpen && known.tables.get(schema)?.values()) || []) {
    tables.push(...showTable(table, rights));
    yield;
  }
  tables.sort((a, b) => (a.table.name < b.table.name ? -1 : 1));
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
    this.#context = { known, hasComponent: (of, table) => of === schema && names.has(table) };
    const profiles = profileParameters(api.schemas);
    const profile = (name: string) => (name in profiles ? [{ $ref: `#/components/parameters/${name}` }] : []);
    this.#profiles = { read: profile('acceptProfile'), write: profile('contentProfile') };
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
      withConditions(tablePath(shown, this.#profiles), conditions),
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
      withConditions(operations, { hasTags: this.#subject.api.etag, hasVersions: false }),
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

function infoOf({ known, schema }: DescriptionSubject) {
  const { summary, description } = splitComment(known.namespaces?.get(schema)?.comment);
  return {
    title: summary ?? `REST API of the schema "${schema}"`,
    description: description ?? 'Generated by gw from the catalogue of the database.',
    version: VERSION,
  };
}
