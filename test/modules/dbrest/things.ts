/** Tables for reading: every kind of type, names that need quotes, relations that the anonymous role may not see. */
export const THINGS = `
  create type mood as enum ('sad', 'ok');
  create table things (
    id int primary key, name text, price numeric(10, 2), big bigint, ok boolean, born date, at timestamptz, tags text[],
    span int4range, data jsonb, kind mood, ref uuid, doc tsvector, bytes bytea, "select" text
  );
  insert into things values
    (1, 'Ann', 1.50, 9007199254740993, true, '2001-02-03', '2001-02-03 04:05:06+00', '{a,b}', '[1,5)', '{"k": [1, null]}',
     'sad', '00000000-0000-0000-0000-000000000001', to_tsvector('english', 'the cats sat'), '\\x00ff', 'x'),
    (2, 'Bob', 20, 2, false, '2002-02-03', '2002-02-03 04:05:06+00', '{b,c}', '[5,9)', '{"k": 2}',
     'ok', '00000000-0000-0000-0000-000000000002', to_tsvector('english', 'a dog'), null, 'y'),
    (3, null, null, null, null, null, null, null, null, null, null, null, null, null, null);
  create table "Ünï çødé" ("first name" text, "列" int, "a.b,(c)" text, "quo""te" text);
  insert into "Ünï çødé" values ('Zoë 😀', 7, 'dot', '"');
  create table t (t int, r int);
  insert into t values (1, 2);
  create view names as select id, name from things where name is not null;
  create table keyed (a int, b int, primary key (b, a));
  create schema hidden;
  create table hidden.secrets (id int);
  create schema second;
  create table second.only_here (id int);
  create table closed (id int);
  create table columns_only (id int, open int);
  create table for_everybody (id int);
  grant select (open) on columns_only to anon;
  grant select on for_everybody to public;
  grant usage on schema hidden, second to anon;
  grant select on things, "Ünï çødé", t, names, keyed, hidden.secrets, second.only_here to anon;
`;
