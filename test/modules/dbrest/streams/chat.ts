import { watchSql } from '../../../../src/modules/dbrest/tools/watch-sql.ts';

const watched = ['messages', 'halls', 'seats', 'parted', 'texts', 'ledger'].map((name) => ({
  schema: 'public',
  name,
}));

/** Rooms whose messages their members may read; the tables are watched, but for `rooms`. */
export const CHAT = `
  create table rooms (id int primary key, name text);
  insert into rooms values (1, 'one'), (2, 'two');
  create table members (room int references rooms, name text, primary key (room, name));
  insert into members values (1, 'ann'), (2, 'ann'), (1, 'bob');
  create table messages (
    id bigint primary key, room int not null references rooms, text text, hidden boolean not null default false, note text);
  insert into messages values (1, 1, 'first', false), (2, 2, 'second', false), (3, 1, 'third', true);
  alter table messages enable row level security;
  create policy open on messages to anon using (not hidden);
  create policy of_members on messages to web_user using (exists (
    select from members m where m.room = messages.room and m.name = current_setting('request.jwt.claims')::json->>'sub'));
  create domain hall_number as int check (value > 0);
  create table halls (id hall_number primary key);
  insert into halls values (1);
  create table seats (row text, number int, taken_by text, primary key (row, number));
  create table parted (id int primary key, text text) partition by range (id);
  create table parted_1 partition of parted for values from (0) to (100);
  create table texts (id text primary key, doc json);
  create table ledger (id numeric primary key, at timestamptz, secret text);
  create view open_messages as select id as number, text, room from messages where room = 1;
  create view words as select text from messages;
  create function shout(messages) returns text stable language sql as $$ select upper($1.text) $$;
  create function all_messages() returns setof messages stable language sql as $$ select * from messages $$;
  grant select on rooms, members, messages, halls, seats, parted, texts, open_messages, words to anon, web_user;
  grant select (id, at) on ledger to anon;
  ${watchSql(watched).replace('set local', 'set')}
`;
