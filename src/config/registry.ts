import type { AnyRow, Context, Inherit, Rows } from './row.ts';

/** What the binder needs to know of a module; the full definition lives in `contract`. */
export interface DirectiveOwner {
  readonly name: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- modules of every config type
  readonly directives: Rows<any>;
}

/** A directive with the module it belongs to. */
export interface Entry {
  readonly name: string;
  readonly owner: string;
  readonly row: AnyRow;
}

/** How a field of a module's config comes down from the enclosing block. */
export interface Field {
  /** True: every block inside sees it. */
  readonly inherit: true | Inherit;
  readonly default: unknown;
  /** The field that says how this one, a list, comes down. */
  readonly inheritBy: string | undefined;
  readonly completedBy: ((own: never, above: never) => unknown) | undefined;
}

/** All directives of all modules. One name may have several rows when their contexts differ (`server`). */
export class Registry {
  readonly entries: readonly Entry[];
  readonly owners: readonly string[];
  /** By owner, the fields that do not come down everywhere, or not as they are. */
  readonly narrowing: ReadonlyMap<string, readonly (readonly [name: string, field: Field])[]>;
  /** Contexts that a configuration can have: main, and what some row opens. */
  readonly contexts: ReadonlySet<Context>;
  readonly #byName = new Map<string, Entry[]>();
  readonly #fields = new Map<string, Map<string, Field>>();

  constructor(owners: readonly DirectiveOwner[]) {
    this.owners = owners.map((owner) => owner.name);
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

  named(name: string): readonly Entry[] {
    return this.#byName.get(name) ?? [];
  }

  /** Names that are legal in a context, for did-you-mean and completion. */
  legalIn(context: Context): readonly string[] {
    return this.entries.filter(({ row }) => row.contexts.includes(context)).map(({ name }) => name);
  }

  fields(owner: string): ReadonlyMap<string, Field> {
    return this.#fields.get(owner) as Map<string, Field>;
  }

  #add(entry: Entry): void {
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

/** A table holds a name twice as `server` and `server (upstream)`; what stands in brackets only tells them apart. */
function nameOf(key: string): string {
  return key.replace(/ \(.*\)$/, '');
}

function narrower(one: Field['inherit'], other: Field['inherit']): Field['inherit'] {
  if (one === false || other === false) return false;
  return one === true ? other : one;
}
