import type { AnyRow, Context, Inherit, Rows } from './row.ts';

/** The part of a module that the binder needs; the full definition is in `contract`. */
interface DirectiveOwner {
  readonly name: string;
  /** The purpose of the module, in one sentence. */
  readonly summary: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- modules of every config type
  readonly directives: Rows<any>;
  /** By name. */
  readonly variables?: object | undefined;
  /** By prefix. */
  readonly families?: object | undefined;
}

/** A directive's row and its module. */
export interface DirectiveEntry {
  readonly name: string;
  readonly owner: string;
  readonly row: AnyRow;
}

/** How a field of a module's config is inherited. */
export interface Field {
  /** True: all nested blocks inherit it. */
  readonly inherit: true | Inherit;
  readonly default: unknown;
  /** The field that decides how this list is inherited. */
  readonly inheritBy: string | undefined;
  readonly completedBy: ((own: never, above: never) => unknown) | undefined;
}

/** All directives of all modules. A name may have several rows for different contexts (`server`). */
export class Registry {
  readonly entries: readonly DirectiveEntry[];
  /** The names of the modules. */
  readonly owners: readonly string[];
  /** The purpose of each module, by name. */
  readonly summaries: ReadonlyMap<string, string>;
  /** By module, the fields that are not inherited unchanged by every block. */
  readonly narrowing: ReadonlyMap<string, readonly (readonly [name: string, field: Field])[]>;
  /** The contexts that a configuration can have: main, and those that rows open. */
  readonly contexts: ReadonlySet<Context>;
  readonly #byName = new Map<string, DirectiveEntry[]>();
  readonly #fields = new Map<string, Map<string, Field>>();
  readonly #variables: ReadonlySet<string>;
  readonly #families: readonly string[];

  constructor(owners: readonly DirectiveOwner[]) {
    this.owners = owners.map((owner) => owner.name);
    this.summaries = new Map(owners.map(({ name, summary }) => [name, summary]));
    this.#variables = new Set(owners.flatMap(({ variables = {} }) => Object.keys(variables)));
    this.#families = owners.flatMap(({ families = {} }) => Object.keys(families));
    this.entries = owners.flatMap((owner) =>
      Object.entries(owner.directives).map(([key, row]) => ({ name: nameOf(key), owner: owner.name, row })),
    );
    const opened = this.entries.flatMap(({ row }) => ('opens' in row ? row.opens : []));
    this.contexts = new Set<Context>(['main', ...opened]);
    for (const owner of owners) this.#fields.set(owner.name, new Map());
    for (const entry of this.entries) this.#add(entry);
    this.narrowing = new Map(
      this.owners.flatMap((owner) => {
        const narrow = [...this.fields(owner)].filter(
          ([, { inherit, inheritBy }]) => inherit !== true || inheritBy !== undefined,
        );
        return narrow.length === 0 ? [] : [[owner, narrow]];
      }),
    );
  }

  named(name: string): readonly DirectiveEntry[] {
    return this.#byName.get(name) ?? [];
  }

  /** True if a module has the variable, itself or by a family; the name is in lower case. */
  hasVariable(name: string): boolean {
    return this.definesVariable(name) || this.#families.some((prefix) => name.startsWith(prefix));
  }

  /** True if a module has a variable of exactly this name, such as `$uri`; `$http_x` belongs to a family. */
  definesVariable(name: string): boolean {
    return this.#variables.has(name);
  }

  /** The names of directives that are allowed in a context. */
  legalIn(context: Context): readonly string[] {
    return this.entries.filter(({ row }) => row.contexts.includes(context)).map(({ name }) => name);
  }

  fields(owner: string): ReadonlyMap<string, Field> {
    return this.#fields.get(owner) as Map<string, Field>;
  }

  #add(entry: DirectiveEntry): void {
    const { name, owner, row } = entry;
    this.#byName.set(name, [...this.named(name), entry]);
    if (row.into === undefined) return;
    const fields = this.#fields.get(owner) as Map<string, Field>;
    const known = fields.get(row.into);
    fields.set(row.into, {
      inherit: narrower(known?.inherit ?? true, ('inherit' in row ? row.inherit : undefined) ?? true),
      default: known?.default ?? ('default' in row ? row.default : undefined),
      inheritBy: known?.inheritBy ?? ('inheritBy' in row ? row.inheritBy : undefined),
      completedBy: known?.completedBy ?? ('completedBy' in row ? row.completedBy : undefined),
    });
  }
}

/** The name of a directive in a table's key: the brackets of `server (upstream)` only distinguish two rows. */
function nameOf(key: string): string {
  return key.replace(/ \(.*\)$/, '');
}

function narrower(one: Field['inherit'], other: Field['inherit']): Field['inherit'] {
  if (one === false || other === false) return false;
  return one === true ? other : one;
}
