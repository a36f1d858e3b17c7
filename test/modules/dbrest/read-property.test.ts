import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DbrestFault } from '../../../src/modules/dbrest/fault/index.ts';
import { pipeline } from './pipeline.ts';
import { SHOP } from './shop.ts';

const shop = pipeline(SHOP);

/** Columns of each table, and its relationships. */
const TABLES: Record<string, { columns: string[]; related: Record<string, string> }> = {
  projects: {
    columns: ['id', 'name', 'client_id', 'budget', 'label', 'meta->lead->>name', 'meta->tags->>0'],
    related: {
      clients: 'clients',
      tasks: 'tasks',
      project_details: 'project_details',
      main_client: 'clients',
    },
  },
  clients: {
    columns: ['id', 'name', 'city'],
    related: { projects: 'projects', 'projects!projects_client_id_fkey': 'projects', tasks: 'tasks' },
  },
  tasks: { columns: ['id', 'name', 'hours', 'done'], related: { projects: 'projects', users: 'users' } },
  users: {
    columns: ['id', 'name'],
    related: { tasks: 'tasks', users: 'users', boss_id: 'users', boss: 'users', reports: 'users' },
  },
  project_details: { columns: ['project_id', 'notes'], related: { projects: 'projects' } },
};

/** Makes choices from a list of numbers; after its end, always the first choice. */
class Dice {
  readonly #rolls: readonly number[];
  #at = 0;
  constructor(rolls: readonly number[]) {
    this.#rolls = rolls;
  }
  roll(sides: number): number {
    const value = this.#rolls[this.#at] ?? 0;
    this.#at += 1;
    return value % sides;
  }
  one<T>(choices: readonly T[]): T {
    return choices[this.roll(choices.length)] as T;
  }
}

/** Parameters other than `select`, by the path of their embed. */
function bounds(dice: Dice, table: string, path: string): string[] {
  const { columns } = TABLES[table] as (typeof TABLES)[string];
  const key = path === '' ? '' : `${path}.`;
  return [
    ...(dice.roll(3) === 1 ? [`${key}${dice.one(columns)}=not.is.null`] : []),
    ...(dice.roll(4) === 1 ? [`${key}or=(${dice.one(columns)}.is.null,not.and(id.gt.1,id.lt.9))`] : []),
    ...(dice.roll(3) === 1 ? [`${key}order=${dice.one(columns)}.desc.nullslast`] : []),
    ...(dice.roll(4) === 1 ? [`${key}limit=${dice.roll(3)}`] : []),
    ...(dice.roll(5) === 1 ? [`${key}offset=1`] : []),
  ];
}

function selection(dice: Dice, table: string, { path, more }: { path: string[]; more: string[] }): string {
  const { columns, related } = TABLES[table] as (typeof TABLES)[string];
  const items = [dice.one(columns), ...(dice.roll(3) === 1 ? ['*'] : [])];
  if (dice.roll(4) === 1) items.push(dice.one(['count()', 'id.max()', 'n:name.min()', 'id::text.count()']));
  for (let i = path.length < 3 ? dice.roll(3) : 0; i > 0; i -= 1) {
    const name = dice.one(Object.keys(related));
    const alias = `e${more.length}${i}`;
    const spread = dice.roll(3) === 1;
    const shown = spread ? (name.split('!')[0] as string) : alias;
    const key = [...path, shown];
    more.push(...bounds(dice, related[name] as string, key.join('.')));
    if (path.length === 0 && dice.roll(4) === 1)
      more.push(`${shown}=${dice.one(['is.null', 'not.is.null'])}`);
    if (path.length === 0 && dice.roll(4) === 1) more.push(`order=${shown}(${dice.one(['id', 'name'])})`);
    const inner = dice.one(['', '!inner', '!left']);
    const inside = dice.roll(5) === 1 ? '' : selection(dice, related[name] as string, { path: key, more });
    items.push(`${spread ? '...' : `${alias}:`}${name}${inner}(${inside})`);
  }
  return items.join(',');
}

function request(rolls: readonly number[]): string {
  const dice = new Dice(rolls);
  const table = dice.one(Object.keys(TABLES));
  const more: string[] = [];
  const select = selection(dice, table, { path: [], more });
  const seen = new Set<string>();
  const once = more.concat(bounds(dice, table, '')).filter((parameter) => {
    const key = parameter.split('=')[0] as string;
    return !seen.has(key) && seen.add(key);
  });
  return `${table}?${[`select=${select}`, ...once].join('&')}`;
}

test(
  'a request with known names is served or refused, and its statement is always valid',
  { timeout: 60_000 },
  async () => {
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(59), { minLength: 5, maxLength: 60 }), async (rolls) => {
        const asked = request(rolls);
        try {
          const rows = (await shop.it.rows(asked)) as unknown[];
          answered += 1;
          if (!/[?&](limit|offset)=/.test(asked)) expect(await shop.it.count(asked), asked).toBe(rows.length);
        } catch (error) {
          expect(error, `${asked}: ${(error as Error).message}`).toBeInstanceOf(DbrestFault);
          expect((error as DbrestFault).status, asked).toBeLessThan(500);
        }
      }),
      { numRuns: 600 },
    );
    expect(answered).toBeGreaterThan(100);
  },
);
