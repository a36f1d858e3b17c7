import type { CatalogueEntries, Section } from './catalogue-entries.ts';
import type { Reading } from './catalogue-share.ts';
import type { Entry } from './catalogue-text.ts';
import { entriesOf } from './catalogue-text.ts';
import type { Namespace, TypeShape } from './discovery.ts';
import { accessOf, namespaceOf, shapeOf } from './discovery.ts';
import { durationMs } from './duration.ts';
import type { Relation, Relations } from './relation.ts';
import { namesOf, relationOf } from './relation.ts';
import { mediaHandlerOf, storedFunctionOf } from './read-function.ts';
import type {
  ForeignKey,
  MediaHandler,
  Representation,
  RoleSettings,
  RowFunction,
  Schema,
  StoredFunction,
  Table,
  TableName,
} from './types.ts';
import { basesOf, viewKey } from './view-bases.ts';
import { columnsWithFacts, writeFactsOf } from './write-facts.ts';

/** PUBLIC, in access control lists. */
const EVERYBODY = '0';

/** What was read as a schema, put together in many small steps. */
export function* schemaOf({ catalogue, reads }: Reading): Generator<undefined, Schema> {
  const draft = new SchemaDraft();
  for (const entry of entriesOf(catalogue)) {
    draft.add(entry);
    yield;
  }
  for (const relation of draft.relations.values()) {
    draft.addTable(relation);
    yield;
  }
  return { ...draft.schema, reads };
}

/** Takes the entries of a catalogue in their order: tables come before what refers to them. */
class SchemaDraft {
  readonly relations = new Map<string, Relation>();
  readonly #tables = new Map<string, Map<string, Table>>();
  readonly #foreignKeys: ForeignKey[] = [];
  readonly #functions = new Map<string, Map<string, StoredFunction[]>>();
  readonly #mediaHandlers: MediaHandler[] = [];
  readonly #types: TableName[] = [];
  readonly #domains = new Map<string, string>();
  readonly #representations = new Map<string, Representation>();
  readonly #textSearchConfigs = new Set<string>();
  readonly #roles = new Map<string, ReadonlySet<string> | 'all'>();
  readonly #roleSettings = new Map<string, RoleSettings>();
  readonly #shapes = new Map<string, TypeShape>();
  readonly #namespaces = new Map<string, Namespace>();

  /** How each section becomes a part of the schema. */
  readonly #take: { readonly [S in Section]: (entry: CatalogueEntries[S]) => void } = {
    table: (entry) => void this.relations.set(entry[0], relationOf(entry)),
    view: ([id, columns]) => void (this.#relation(id).shown = columns),
    foreignKey: (entry) => void this.#foreignKeys.push(...foreignKeyOf(entry, this.relations)),
    rowFunction: (entry) =>
      void this.relations.get(entry[0])?.functions.push(rowFunctionOf(entry, this.relations)),
    function: (entry) => this.#addFunction(storedFunctionOf(entry, this.relations)),
    mediaHandler: (entry) => void this.#mediaHandlers.push(mediaHandlerOf(entry, this.relations)),
    type: (entry) => this.#addType(entry),
    representation: (entry) => this.#addRepresentation(entry),
    textSearchConfig: (entry) => void this.#textSearchConfigs.add(entry),
    role: (entry) => this.#addRole(entry),
    writing: (entry) => this.#addFacts(entry),
    access: (entry) => this.#addAccess(entry),
    shape: (entry) => void this.#shapes.set(entry[0], shapeOf(entry)),
    inert: (entry) => void (this.#relation(entry).isInert = true),
    namespace: (entry) => void this.#namespaces.set(entry[0], namespaceOf(entry)),
  };

  add([section, entry]: Entry): void {
    (this.#take[section] as (entry: Entry[1]) => void)(entry);
  }

  #relation(id: string): Relation {
    return this.relations.get(id) as Relation;
  }

  #addFacts(entry: CatalogueEntries['writing']): void {
    const relation = this.#relation(entry[0]);
    relation.facts = writeFactsOf(entry, relation.columnNames);
  }

  #addAccess(entry: CatalogueEntries['access']): void {
    const relation = this.#relation(entry[0]);
    relation.access = accessOf(entry, relation.columnNames);
  }

  #addType([schema, name, id, of]: CatalogueEntries['type']): void {
    this.#types.push({ schema, name });
    if (of !== null) this.#domains.set(id, of);
  }

  #addRepresentation([domain, isShown, schema, name]: CatalogueEntries['representation']): void {
    const known = this.#representations.get(domain);
    this.#representations.set(domain, { ...known, [isShown ? 'shown' : 'read']: { schema, name } });
  }

  /** Once all relations are known: what a view shows may be any of them. */
  addTable(relation: Relation): void {
    const { schema, name } = relation.name;
    const siblings = this.#tables.get(schema) ?? new Map<string, Table>();
    this.#tables.set(schema, siblings.set(name, tableOf(relation, this.relations)));
  }

  #addRole([role, isSuperuser, privilegesOf, settings]: CatalogueEntries['role']): void {
    if (settings) this.#roleSettings.set(role, roleSettingsOf(settings));
    this.#roles.set(role, isSuperuser ? 'all' : new Set([EVERYBODY, ...privilegesOf]));
  }

  #addFunction(called: StoredFunction): void {
    const siblings = this.#functions.get(called.schema) ?? new Map<string, StoredFunction[]>();
    this.#functions.set(called.schema, siblings);
    siblings.set(called.name, [...(siblings.get(called.name) ?? []), called]);
  }

  get schema(): Schema {
    return {
      tables: this.#tables,
      foreignKeys: this.#foreignKeys,
      functions: this.#functions,
      mediaHandlers: this.#mediaHandlers,
      types: this.#types,
      domains: this.#domains,
      representations: this.#representations,
      textSearchConfigs: this.#textSearchConfigs,
      roles: this.#roles,
      roleSettings: this.#roleSettings,
      shapes: this.#shapes,
      namespaces: this.#namespaces,
    };
  }
}

function roleSettingsOf(settings: readonly (readonly [name: string, value: string])[]): RoleSettings {
  const others = settings.filter(([name]) => name !== 'statement_timeout');
  const timeout = settings.find(([name]) => name === 'statement_timeout');
  const timeoutMs = timeout && durationMs(timeout[1]);
  return {
    names: others.map(([name]) => name),
    values: others.map(([, value]) => value),
    // 0 is no timeout at all.
    ...(timeoutMs && { timeoutMs }),
  };
}

function rowFunctionOf(
  [, schema, name, type, returnsSet, rows, returned]: CatalogueEntries['rowFunction'],
  relations: Relations,
): RowFunction {
  const returns = returned === null ? undefined : relations.get(returned)?.name;
  const single = !returnsSet || rows === 1;
  return { schema, name, type, returnsSet, single, ...(returns && { returns }) };
}

function tableOf(relation: Relation, relations: Relations): Table {
  const { id, name, kind, primaryKey, uniques, grantees, comment, functions, shown, facts } = relation;
  const { access, isInert } = relation;
  const bases = shown ? basesOf(relation, relations) : [{ base: id }];
  return {
    ...name,
    columns: columnsWithFacts(relation, relations),
    primaryKey: primaryKey ?? (shown && viewKey(bases, relations)) ?? [],
    uniques,
    grantees,
    ...(comment !== null && { comment }),
    isView: kind === 'v' || kind === 'm',
    kind,
    ...(facts && { uniqueIndexes: facts.uniqueIndexes }),
    bases,
    functions,
    ...(access && { access }),
    ...(isInert && { isInert }),
  };
}

function foreignKeyOf(
  [name, table, target, columns, targetColumns]: CatalogueEntries['foreignKey'],
  relations: Relations,
): ForeignKey[] {
  const from = relations.get(table);
  const to = relations.get(target);
  if (!from || !to) return [];
  const here = namesOf(columns, from.columnNames);
  const there = namesOf(targetColumns, to.columnNames);
  const own = new Set(here);
  const keys = from.primaryKey ? [from.primaryKey, ...from.uniques] : from.uniques;
  const unique = keys.some((key) => key.length === own.size && key.every((column) => own.has(column)));
  const pairs = here.map((column, i) => [column, there[i] ?? ''] as const);
  return [{ name, table, target, pairs, unique }];
}
