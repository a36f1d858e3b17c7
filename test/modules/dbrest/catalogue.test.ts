import { expect, test } from 'vitest';
import { relationshipsOf } from '../../../src/modules/dbrest/schema/index.ts';
import { pipeline } from './pipeline.ts';

const FIXTURE = `
  create table parents (id int, part int, name text, unique (name), primary key (part, id));
  create table children (id int primary key, parent_part int, parent_id int, note text,
    constraint belongs foreign key (parent_part, parent_id) references parents (part, id));
  create table twins (id int primary key references children, other int unique references children (id));
  comment on table parents is 'All parents';
  comment on column parents.name is 'Their name; "quoted" (and {braced})';
  create table logs (id int, at date, child_id int references children, primary key (id, at)) partition by range (at);
  create table logs_2020 partition of logs for values from ('2020-01-01') to ('2021-01-01');

  create view plain as select part, id, name as parent_name from parents;
  create view renamed as select parent_part as p, parent_id as q, id as child, note || ')' as noted from children;
  create view joined as
    select c.id as child_id, p.part, p.id as parent_id, (select max(id) from twins where id = c.id) as twin
    from children c left join parents p on p.id = c.parent_id where exists (select 1 from twins t where t.id = c.id)
    group by c.id, p.part, p.id having count(*) > 0 order by 1;
  create view with_cte as with picked as (select id, note from children) select id as child, note from picked;
  create view on_view as select q, p, child as c from renamed;
  create view united as select id from children union select id from twins;
  create view doubled as select id as one, id as two from children;
  create view "odd \\ (name" as select id as "re}sno (1", note as "a:b \\ c" from children;
  create materialized view stored as select id, parent_part, parent_id from children;
  create view partial as select id, name from parents;
  create view computed as select id + 1 as id, coalesce(note, '') as note from children;
`;
const db = pipeline(FIXTURE);
const table = (name: string) => {
  const found = db.it.schema.tables.get('public')?.get(name);
  if (!found) throw new Error(`no table ${name}`);
  return found;
};

const keys: [name: string, key: string[]][] = [
  ['parents', ['part', 'id']],
  ['plain', ['part', 'id']],
  ['renamed', ['child']],
  ['joined', ['child_id', 'part', 'parent_id']],
  ['with_cte', ['child']],
  ['on_view', ['c']],
  ['united', []],
  ['doubled', ['one']],
  ['odd \\ (name', ['re}sno (1']],
  ['stored', ['id']],
  ['partial', []],
  ['computed', []],
];
test.each(keys)('the key of %s is %j', (name, key) => {
  expect(table(name).primaryKey).toEqual(key);
});

const ways: [name: string, expected: string[]][] = [
  [
    'children',
    [
      'many-to-one parents parent_part=part,parent_id=id',
      'many-to-one plain parent_part=part,parent_id=id',
      'one-to-many logs id=child_id',
      'one-to-one twins id=id',
      'one-to-one twins id=other',
    ],
  ],
  [
    'renamed',
    [
      'many-to-one parents p=part,q=id',
      'many-to-one plain p=part,q=id',
      'one-to-many logs child=child_id',
      'one-to-one twins child=id',
      'one-to-one twins child=other',
    ],
  ],
  [
    'on_view',
    [
      'many-to-one parents p=part,q=id',
      'many-to-one plain p=part,q=id',
      'one-to-many logs c=child_id',
      'one-to-one twins c=id',
      'one-to-one twins c=other',
    ],
  ],
  ['united', []],
  ['partial', []],
];
test.each(ways)('%s has the relationships of its base tables', (name, expected) => {
  const views = new Set([
    'renamed',
    'on_view',
    'stored',
    'joined',
    'doubled',
    'odd \\ (name',
    'with_cte',
    'united',
  ]);
  const found = relationshipsOf(table(name), db.it.schema)
    .filter(({ target, junction }) => !junction && !views.has(target.name))
    .map(
      ({ cardinality, target, pairs }) =>
        `${cardinality} ${target.name} ${pairs.map((pair) => pair.join('=')).join(',')}`,
    );
  expect(found.sort()).toEqual(expected);
});

test('a view that shows a key twice has two relationships', () => {
  const found = relationshipsOf(table('doubled'), db.it.schema).filter(
    ({ target }) => target.name === 'twins',
  );
  expect(found.map(({ pairs }) => pairs[0])).toEqual([
    ['one', 'id'],
    ['two', 'id'],
    ['one', 'other'],
    ['two', 'other'],
  ]);
});

test('comments and unique constraints are known', () => {
  expect(table('parents').comment).toBe('All parents');
  expect(table('parents').columns.get('name')?.comment).toBe('Their name; "quoted" (and {braced})');
  expect(table('parents').uniques).toEqual([['name']]);
  expect(table('children').comment).toBeUndefined();
});

test('the schema is plain data that can be cloned', () => {
  expect(structuredClone(db.it.schema)).toEqual(db.it.schema);
});
