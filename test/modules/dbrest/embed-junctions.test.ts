import { expect, test } from 'vitest';
import { faultOf, pipeline } from './pipeline.ts';

const junctions = pipeline(`
  create schema hidden;
  create table films (id int primary key, title text);
  create table actors (id int primary key, name text);
  create table roles (
    film_id int references films, actor_id int references actors, part text, primary key (film_id, actor_id)
  );
  create table users (id int primary key);
  create table follows (
    follower_id int references users, followed_id int references users, primary key (follower_id, followed_id)
  );
  create table hidden.awards (
    film_id int references films, user_id int references users, primary key (film_id, user_id)
  );
  insert into films values (1, 'One'), (2, 'Two');
  insert into actors values (1, 'Ann'), (2, 'Bob');
  insert into roles values (1, 1, 'lead'), (1, 2, 'extra'), (2, 2, 'lead');
  insert into users values (1), (2);
  insert into follows values (1, 2);
  insert into hidden.awards values (2, 1);

  create view film_list as select id, title from films;
  create view leads as select film_id, actor_id from roles where part = 'lead';
  create view casts as select r.film_id, r.actor_id, f.id, a.name from roles r join films f on f.id = film_id
    join actors a on a.id = actor_id;
  create view parts as select film_id, part from roles;
  create view closed as select film_id, actor_id from roles;
  create view follow_list as select * from follows;
  create view awards as select * from hidden.awards;
  grant select on all tables in schema public to anon;
  revoke all on closed from anon;
`);

const embeds: [request: string, rows: unknown][] = [
  [
    'films?select=title,actors!leads(name)&order=id',
    [
      { title: 'One', actors: [{ name: 'Ann' }] },
      { title: 'Two', actors: [{ name: 'Bob' }] },
    ],
  ],
  [
    'films?select=actors!roles(name)&id=eq.1&actors.order=id',
    [{ actors: [{ name: 'Ann' }, { name: 'Bob' }] }],
  ],
  ['films?select=actors!casts(name)&id=eq.2', [{ actors: [{ name: 'Bob' }] }]],
  ['actors?select=name,films!leads!inner(title)&films.id=eq.2', [{ name: 'Bob', films: [{ title: 'Two' }] }]],
  ['films?select=title,users(id)&users=not.is.null', [{ title: 'Two', users: [{ id: 1 }] }]],
  ['users?select=id,users!follows_followed_id_fkey(id)&id=eq.1', [{ id: 1, users: [{ id: 2 }] }]],
];

test.each(embeds)('many-to-many through a view: %s', async (request, rows) => {
  expect(await junctions.it.rows(request)).toEqual(rows);
});

test('an ambiguous embed lists the views of its junction that the role may use', async () => {
  const fault = await faultOf(() => junctions.it.rows('films?select=title,actors(name)'));
  const keys = 'roles_film_id_fkey(film_id) and roles_actor_id_fkey(actor_id)';
  expect(fault).toMatchObject({
    status: 300,
    code: 'PGRST201',
    details: ['casts', 'leads', 'roles'].map((junction) => ({
      cardinality: 'many-to-many',
      embedding: 'films with actors',
      relationship: `${junction} using ${keys}`,
    })),
    hint: "Try changing 'actors' to one of the following: 'actors!casts', 'actors!leads', 'actors!roles'. Find the desired relationship in the 'details' key.",
  });
});

const unrelated: string[] = [
  'films?select=actors!parts(name)',
  // Both ends would be the same foreign key.
  'films?select=film_list(title)',
];

test.each(unrelated)('no junction: %s', async (request) => {
  expect(await faultOf(() => junctions.it.rows(request))).toMatchObject({ status: 400, code: 'PGRST200' });
});
