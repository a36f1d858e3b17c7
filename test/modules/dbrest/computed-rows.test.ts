import { expect, test } from 'vitest';
import { pipeline } from './pipeline.ts';

/** Functions of a film that are to-one, by what they give: one row, several, none, a row of nulls, NULL. */
const films = pipeline(`
  create table people (id int primary key, name text);
  create table films (id int primary key, title text, person_id int);
  insert into people values (1, 'Ann'), (2, 'Bob'), (3, null);
  insert into films values (1, 'One', 2), (2, 'Two', null);
  create function director(films) returns setof people rows 1 stable language sql
    as $$ select * from people where id = $1.person_id $$;
  create function anybody(films) returns setof people rows 1 stable language sql as $$ select * from people order by id $$;
  create function nobody(films) returns setof people rows 1 stable language sql as $$ select null::int, null::text $$;
  create function writer(films) returns people stable language sql as $$ select p from people p where id = $1.person_id $$;
  create function shadow(films) returns people stable language sql as $$ select null::int, null::text $$;
  create function shout(people) returns text stable language sql as $$ select upper($1.name) || '!' $$;
  create table shows (id int, year int, film_id int references films, primary key (id, year)) partition by list (year);
  create table shows_2024 (year int, film_id int, id int, primary key (id, year));
  alter table shows attach partition shows_2024 for values in (2024);
  insert into shows values (7, 2024, 1);
  create function recent(films) returns setof shows_2024 stable language sql
    as $$ select * from shows_2024 where film_id = $1.id $$;
  create function crew(films) returns setof people stable language sql as $$ select * from people $$;
  grant select on all tables in schema public to anon;
`);

const bob = { id: 2, name: 'Bob' };
const nulls = { id: null, name: null };

const embeds: [request: string, rows: unknown][] = [
  ['films?select=director(*)&order=id', [{ director: bob }, { director: null }]],
  ['films?select=id,director!inner(*)', [{ id: 1, director: bob }]],
  ['films?select=id,director()&director=is.null', [{ id: 2 }]],
  ['films?select=id,anybody(*)&id=eq.1', [{ id: 1, anybody: { id: 1, name: 'Ann' } }]],
  ['films?select=id,anybody!inner(name,shout)&id=eq.1', [{ id: 1, anybody: { name: 'Ann', shout: 'ANN!' } }]],
  [
    'films?select=id,anybody(name)&id=eq.1&anybody.order=name.desc.nullslast',
    [{ id: 1, anybody: { name: 'Bob' } }],
  ],
  ['films?select=id,anybody(name)&id=eq.1&anybody.name=eq.Bob', [{ id: 1, anybody: { name: 'Bob' } }]],
  [
    'films?select=id,anybody(name)&id=eq.1&anybody.limit=5&anybody.offset=1',
    [{ id: 1, anybody: { name: 'Bob' } }],
  ],
  [
    'films?select=id,...anybody(name)&order=id',
    [
      { id: 1, name: 'Ann' },
      { id: 2, name: 'Ann' },
    ],
  ],
  [
    'films?select=id,anybody(name)&order=anybody(name).desc,id.desc',
    [
      { id: 2, anybody: { name: 'Ann' } },
      { id: 1, anybody: { name: 'Ann' } },
    ],
  ],
  ['films?select=count(),anybody(name)', [{ count: 2, anybody: { name: 'Ann' } }]],
  ['films?select=nobody(*)&id=eq.1', [{ nobody: nulls }]],
  ['films?select=id,nobody()&nobody=not.is.null&order=id', [{ id: 1 }, { id: 2 }]],
  ['films?select=writer(*)&order=id', [{ writer: bob }, { writer: nulls }]],
  ['films?select=shadow(*)&id=eq.1', [{ shadow: nulls }]],
  [
    'films?select=id,writer!inner(name)&order=id',
    [
      { id: 1, writer: { name: 'Bob' } },
      { id: 2, writer: { name: null } },
    ],
  ],
  [
    'films?select=id,writer(name)&writer.name=not.is.null&order=id',
    [
      { id: 1, writer: { name: 'Bob' } },
      { id: 2, writer: null },
    ],
  ],
  [
    'films?select=id,...writer(name)&order=id',
    [
      { id: 1, name: 'Bob' },
      { id: 2, name: null },
    ],
  ],
  [
    'films?select=crew(name)&id=eq.1&crew.order=id',
    [{ crew: [{ name: 'Ann' }, { name: 'Bob' }, { name: null }] }],
  ],
];

test.each(embeds)('a to-one function of a row gives its first row: %s', async (request, rows) => {
  expect(await films.it.rows(request)).toEqual(rows);
});

const partitions: [request: string, rows: unknown][] = [
  [
    'films?select=id,recent(id,films(title))&order=id',
    [
      { id: 1, recent: [{ id: 7, films: { title: 'One' } }] },
      { id: 2, recent: [] },
    ],
  ],
  ['films?select=recent(*)&id=eq.1&recent.year=eq.2024', [{ recent: [{ id: 7, year: 2024, film_id: 1 }] }]],
];

test.each(partitions)('a function of a row may give rows of a partition: %s', async (request, rows) => {
  expect(await films.it.rows(request)).toEqual(rows);
});
