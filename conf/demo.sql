-- Runs once, when the embedded database of the demo is created.

create role anon nologin;
create role web_user nologin;
create role authenticator login noinherit;
grant anon, web_user to authenticator;

create schema api;
grant usage on schema api to anon, web_user;

create table api.todos (
  id    bigint generated always as identity primary key,
  task  text not null check (task <> ''),
  done  boolean not null default false,
  owner text,
  due   timestamptz
);
comment on table api.todos is 'Things to do.';

alter table api.todos enable row level security;
-- Rows with an owner are nobody else's business.
create policy todos_without_owner on api.todos for select to anon using (owner is null);
create policy todos_of_owner on api.todos to web_user
  using (owner is null or owner = current_setting('request.jwt.claims', true)::json ->> 'sub');

grant select on api.todos to anon;
grant select, insert, update, delete on api.todos to web_user;

insert into api.todos (task, done, owner) values
  ('read the README', true, null),
  ('try the gateway', false, null),
  ('break conf/demo.conf and run gw check', false, null),
  ('a secret of ann', false, 'ann');
