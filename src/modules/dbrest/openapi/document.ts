import { VERSION } from '../../../version.ts';
import type { Rights, Schema, Table } from '../schema/index.ts';
import type { Overloads } from './function-paths.ts';
import { callable, functionPath } from './function-paths.ts';
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
  const draft = new Draft(subject);
  for (const shown of draft.tables) {
    draft.addTable(shown);
    yield;
  }
  for (const overloads of draft.functions) {
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
  readonly tables: readonly ShownTable[];
  readonly functions: readonly Overloads[];
  readonly #subject: Subject;
  readonly #context: TypeContext;
  readonly #profiles: Profiles;
  readonly #paths = new Members();
  readonly #schemas = new Members();
  readonly #parameters = new Members();
  readonly #responses = new Members();

  constructor(subject: Subject) {
    const { known, schema, api, rights } = subject;
    this.#subject = subject;
    this.tables = rights.usesSchema(schema) ? tablesIn(known.tables.get(schema), rights) : [];
    const hasFunctions = rights.usesSchema(schema) && api.functionPath !== undefined;
    this.functions = hasFunctions ? callable(known.functions?.get(schema), rights) : [];
    const names = new Set(this.tables.map(({ table }) => table.name));
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
    components.add('schemas', this.#schemas);
    components.add('parameters', this.#parameters);
    components.add('responses', this.#responses);
    if (hasTokens) components.add('securitySchemes', { JWT: scheme });
    const whole = new Members();
    whole.add('info', infoOf(this.#subject));
    if (hasTokens) whole.add('security', security);
    whole.add('paths', this.#paths);
    whole.add('components', components);
    return Buffer.from(`${whole.members()}}`);
  }
}

function tablesIn(tables: ReadonlyMap<string, Table> | undefined, rights: Rights): readonly ShownTable[] {
  return Array.from(tables?.values() ?? [])
    .flatMap((table) => showTable(table, rights) ?? [])
    .sort((a, b) => (a.table.name < b.table.name ? -1 : 1));
}

function infoOf({ known, schema }: Subject) {
  const { summary, description } = splitComment(known.namespaces?.get(schema)?.comment);
  return {
    title: summary ?? `REST API of the schema "${schema}"`,
    description: description ?? 'Made by gw from what the database tells of itself.',
    version: VERSION,
  };
}

/** The members of a JSON object, written as they come: nothing has to be gone through again in one go at the end. */
class Members {
  readonly #texts: string[] = [];

  add(name: string, value: object): void {
    const text = value instanceof Members ? `{${value.members()}}` : JSON.stringify(value);
    this.#texts.push(`${JSON.stringify(name)}:${text}`);
  }

  addAll(entries: Iterable<readonly [name: string, value: object]>): void {
    for (const [name, value] of entries) this.add(name, value);
  }

  members(): string {
    return this.#texts.join(',');
  }
}
