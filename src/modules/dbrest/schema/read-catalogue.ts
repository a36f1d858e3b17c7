import type { CatalogueEntries } from './catalogue-entries.ts';
import type { Catalogue, Entry } from './catalogue-text.ts';
import { entriesOf } from './catalogue-text.ts';
import type { Namespace, TypeShape } from './discovery.ts';
import { accessOf, namespaceOf, shapeOf } from './discovery.ts';
import type { Relation, Relations } from './relation.ts';
import { namesOf, relationOf } from './relation.ts';
import type { ForeignKey, RowFunction, Schema, Table, TableName } from './types.ts';
import { basesOf, viewKey } from './view-bases.ts';
import { columnsWithFacts, writeFactsOf } from './write-facts.ts';

/** PUBLIC, in access control lists. */
const EVERYBODY = '0';

/** A catalogue as a schema, put together in many small steps. */
export function* schemaOf(catalogue: Catalogue): Generator<undefined, Schema> {
  const draft = new SchemaDraft();
  for (const entry of entriesOf(catalogue)) {
    draft.add(entry);
    yield;
  }
  for (const relation of draft.relations.values()) {
    draft.addTable(relation);
    yield;
  }
  return draft.schema;
}

/** Takes the entries of a catalogue in their order: tables come before what refers to them. */
class SchemaDraft {
  readonly relations = new Map<string, Relation>();
  readonly #tables = new Map<string, Map<string, Table>>();
  readonly #foreignKeys: ForeignKey[] = [];
  readonly #types: TableName[] = [];
  readonly #domains = new Map<string, string>();
  readonly #textSearchConfigs = new Set<string>();
  readonly #roles = new Map<string, ReadonlySet<string> | 'all'>();
  readonly #shapes = new Map<string, TypeShape>();
  readonly #namespaces = new Map<string, Namespace>();

  add([section, entry]: Entry): void {
    switch (section) {
      case 'table':
        this.relations.set(entry[0], relationOf(entry));
        break;
      case 'view':
        this.#relation(entry[0]).shown = entry[1];
        break;
      case 'foreignKey':
        this.#foreignKeys.push(...foreignKeyOf(entry, this.relations));
        break;
      case 'rowFunction':
        this.relations.get(entry[0])?.functions.push(rowFunctionOf(entry, this.relations));
        break;
      case 'type':
        this.#types.push({ schema: entry[0], name: entry[1] });
        if (entry[3] !== null) this.#domains.set(entry[2], entry[3]);
        break;
      case 'textSearchConfig':
        this.#textSearchConfigs.add(entry);
        break;
      case 'role':
        this.#addRole(entry);
        break;
      case 'writing':
        this.#addFacts(entry);
        break;
      case 'access': {
        const relation = this.#relation(entry[0]);
        relation.access = accessOf(entry, relation.columnNames);
        break;
      }
      case 'shape':
        this.#shapes.set(entry[0], shapeOf(entry));
        break;
      case 'namespace':
        this.#namespaces.set(entry[0], namespaceOf(entry));
    }
  }

  #relation(id: string): Relation {
    return this.relations.get(id) as Relation;
  }

  #addFacts(entry: CatalogueEntries['writing']): void {
    const relation = this.#relation(entry[0]);
    relation.facts = writeFactsOf(entry, relation.columnNames);
  }

  #addRole([role, isSuperuser, privilegesOf]: CatalogueEntries['role']): void {
    this.#roles.set(role, isSuperuser ? 'all' : new Set([EVERYBODY, ...privilegesOf]));
  }

  /** Once all relations are known: what a view shows may be any of them. */
  addTable(relation: Relation): void {
    const { schema, name } = relation.name;
    const siblings = this.#tables.get(schema) ?? new Map<string, Table>();
    this.#tables.set(schema, siblings.set(name, tableOf(relation, this.relations)));
  }

  get schema(): Schema {
    return {
      tables: this.#tables,
      foreignKeys: this.#foreignKeys,
      types: this.#types,
      domains: this.#domains,
      textSearchConfigs: this.#textSearchConfigs,
      roles: this.#roles,
      shapes: this.#shapes,
      namespaces: this.#namespaces,
    };
  }
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
  const { id, name, kind, primaryKey, uniques, grantees, comment, functions, shown, facts, access } =
    relation;
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
