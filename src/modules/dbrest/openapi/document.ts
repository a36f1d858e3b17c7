import { VERSION } from '../../../version.ts';
import type { Rights, Schema } from '../schema/index.ts';
import type { Overloads } from './function-paths.ts';
import { callable, functionPath } from './function-paths.ts';
import { Members } from './members.ts';
import { componentName, splitComment } from './names.ts';
import { FILTER_SCHEMA, FILTER_SCHEMA_NAME, profileParameters, SHARED_PARAMETERS } from './parameters.ts';
import { ERROR, SHARED_RESPONSES } from './responses.ts';
import type { ShownTable } from './shown-table.ts';
import { showTable } from './shown-table.ts';
import type { Profiles } from './table-paths.ts';
import { rowFilters, rowsResponse, tablePath } from './table-paths.ts';
import { tableSchemas } from './table-schema.ts';
import type { TypeContext } from './type-schema.ts';

/** What a description is made of. */
export interface Subject {
  readonly known: Schema;
  /** Of the allowlist. */
  readonly schema: string;
  readonly rights: Rights;
  readonly api: ApiFacts;
}

/** What the configuration of a location says of its API. */
export interface ApiFacts {
  readonly schemas: readonly string[];
  readonly hasTables: boolean;
  /** What stands in front of the name of a function in its path; absent: the location has none. */
  readonly functionPath?: '/rpc/' | '/';
  /** Tokens are verified. */
  readonly hasTokens: boolean;
  /** Requests without a token have a role. */
  readonly isOpen: boolean;
}

/**
 * An OpenAPI 3.1 document as JSON, but for its first members, which depend on the request: what is given follows
 * `{"openapi":"3.1.0","servers":[…],`. A step for each table and function, for a database may have thousands.
 */
export function* writeDocument(subject: Subject): Generator<undefined, Buffer> {
  const { known, schema, rights } = subject;
  const tables: ShownTable[] = [];
  const isOpen = rights.usesSchema(schema);
  for (const table of (isOpen && known.tables.get(schema)?.values()) || []) {
    tables.push(...showTable(table, rights));
    yield;
  }
  tables.sort((a, b) => (a.table.name < b.table.name ? -1 : 1));
  const draft = new Draft(subject, tables);
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
        content: { 'application/openapi+json': DOCUMENT, 'application/json': DOCUMENT },
      },
      default: ERROR,
    },
  },
};

/** Members of the objects that grow with each table, as JSON. */
class Draft {
  readonly functions: readonly Overloads[];
  readonly #subject: Subject;
  readonly #context: TypeContext;
  readonly #profiles: Profiles;
  readonly #paths = new Members();
  readonly #schemas = new Members();
  readonly #parameters = new Members();
  readonly #responses = new Members();

  constructor(subject: Subject, tables: readonly ShownTable[]) {
    const { known, schema, api, rights } = subject;
    this.#subject = subject;
    this.functions = api.functionPath === undefined ? [] : callable(known.functions?.get(schema), rights);
    const names = new Set(tables.map(({ table }) => table.name));
    this.#context = { known, hasComponent: (of, table) => of === schema && names.has(table) };
    const profiles = profileParameters(api.schemas);
    const profile = (name: string) => (name in profiles ? [{ $ref: `#/components/parameters/${name}` }] : []);
    this.#profiles = { read: profile('acceptProfile'), write: profile('contentProfile') };
    this.#paths.add('/', ROOT_PATH);
    this.#schemas.add(FILTER_SCHEMA_NAME, FILTER_SCHEMA);
    this.#parameters.addAll(Object.entries({ ...SHARED_PARAMETERS, ...profiles }));
    this.#responses.addAll(Object.entries(SHARED_RESPONSES));
  }

  addTable(shown: ShownTable): void {
    const { name } = shown.table;
    this.#schemas.addAll(tableSchemas(shown, this.#context));
    if (!this.#subject.api.hasTables) return;
    const response = rowsResponse(shown);
    if (response) this.#responses.add(componentName(name), response);
    this.#parameters.addAll(rowFilters(shown));
    this.#paths.add(`/${encodeURIComponent(name)}`, tablePath(shown, this.#profiles));
  }

  addFunctions(overloads: Overloads): void {
    const path = `${this.#subject.api.functionPath}${encodeURIComponent(overloads[0]?.name ?? '')}`;
    this.#paths.add(path, functionPath(overloads, this.#context, this.#profiles));
  }

  finish(): Buffer {
    const { hasTokens, isOpen } = this.#subject.api;
    const security = [...(isOpen ? [{}] : []), ...(hasTokens ? [{ JWT: [] }] : [])];
    const scheme = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' };
    const components = new Members();
    components.addMembers('schemas', this.#schemas);
    components.addMembers('parameters', this.#parameters);
    components.addMembers('responses', this.#responses);
    if (hasTokens) components.add('securitySchemes', { JWT: scheme });
    const whole = new Members();
    whole.add('info', infoOf(this.#subject));
    if (hasTokens) whole.add('security', security);
    whole.addMembers('paths', this.#paths);
    whole.addMembers('components', components);
    return Buffer.concat([...whole.pieces(), Buffer.from('}')]);
  }
}

function infoOf({ known, schema }: Subject) {
  const { summary, description } = splitComment(known.namespaces?.get(schema)?.comment);
  return {
    title: summary ?? `REST API of the schema "${schema}"`,
    description: description ?? 'Made by gw from what the database tells of itself.',
    version: VERSION,
  };
}
