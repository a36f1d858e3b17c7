/**
 * The tables of an ordinary application: clients with projects, projects with tasks, users with tasks (many-to-many), a
 * tree, a graph of users, two keys between the same tables, one-to-one, views, computed columns and relationships.
 */
export const SHOP = `
  create table clients (id int primary key, name text not null, city text);
  create table projects (
    id int primary key, name text not null, client_id int references clients, budget numeric(10, 2), meta jsonb
  );
  create table project_details (project_id int primary key references projects, notes text);
  create table tasks (id int primary key, name text not null, project_id int references projects, hours int, done boolean);
  create table users (id int primary key, name text not null, boss_id int references users);
  create table users_tasks (
    user_id int references users, task_id int references tasks, role text, primary key (user_id, task_id)
  );
  create table follows (
    follower_id int references users, followed_id int references users, primary key (follower_id, followed_id)
  );
  create table addresses (id int primary key, street text);
  create table orders (
    id int primary key, amount int, status text,
    billing_id int constraint billing references addresses, shipping_id int constraint shipping references addresses
  );
  create table parts (a int, b int, name text, primary key (a, b));
  create table part_uses (id int primary key, a int, b int, foreign key (a, b) references parts);
  create table lonely (id int primary key);
  create table secret_projects (id int primary key, client_id int references clients);

  insert into clients values (1, 'Acme', 'Rome'), (2, 'Bolt', 'Oslo'), (3, 'Core', 'Oslo');
  insert into projects values
    (1, 'Web', 1, 100.50, '{"tags": ["a", "b"], "lead": {"name": "Zoe"}}'), (2, 'App', 1, 200, '{"tags": ["c"]}'),
    (3, 'Data', 2, 50, null), (4, 'Inner', null, null, null);
  insert into project_details values (1, 'first'), (3, 'third');
  insert into tasks values
    (1, 'design', 1, 5, true), (2, 'code', 1, 8, false), (3, 'test', 2, 3, false), (4, 'load', 3, 2, true);
  insert into users values (1, 'Ann', null), (2, 'Bob', 1), (3, 'Cid', 1), (4, 'Dee', 2);
  insert into users_tasks values (1, 1, 'lead'), (1, 2, 'dev'), (2, 2, 'dev'), (2, 3, 'dev'), (4, 4, 'ops');
  insert into follows values (1, 2), (1, 3), (2, 3);
  insert into addresses values (1, 'A St'), (2, 'B St');
  insert into orders values (1, 10, 'new', 1, 2), (2, 20, 'new', 1, 1), (3, 30, 'sent', 2, null);
  insert into parts values (1, 1, 'bolt'), (1, 2, 'nut');
  insert into part_uses values (1, 1, 1), (2, 1, 2), (3, null, 1);

  create view project_list as select id as project_id, upper(name) as title, client_id as customer_id from projects;
  create view open_tasks as select t.id, t.name, t.project_id from (select * from tasks where not done) t;
  create view open_list as select id as task_id, name, project_id as of_project from open_tasks;
  create view task_teams as
    select t.id, t.name, (select count(*) from users_tasks ut where ut.task_id = t.id) as size, p.client_id
    from tasks t join projects p on p.id = t.project_id order by t.hours limit 100;
  create materialized view big_clients as select id, name from clients where id < 3;

  create function label(projects) returns text stable language sql as $$ select $1.name || '!' $$;
  create function size(projects) returns jsonb stable language sql as $$ select jsonb_build_object('name', length($1.name)) $$;
  create function label(project_list) returns text stable language sql as $$ select lower($1.title) $$;
  create function main_client(projects) returns setof clients rows 1 stable language sql
    as $$ select * from clients where id = $1.client_id $$;
  create function reports(users) returns setof users stable language sql as $$ select * from users where boss_id = $1.id $$;
  create function boss(users) returns users stable language sql as $$ select u from users u where u.id = $1.boss_id $$;
  create function tasks(clients) returns setof tasks stable language sql
    as $$ select t.* from tasks t join projects p on p.id = t.project_id where p.client_id = $1.id $$;
  create schema hidden;
  create type order_status as enum ('new', 'sent');
  create type hidden.hidden_status as enum ('x');
  create function hidden.secret_label(projects) returns text stable language sql as $$ select 'hidden' $$;

  grant usage on schema hidden to anon;
  grant select on all tables in schema public to anon;
  create view order_list as select id from orders;
  grant select on order_list to anon;
  revoke all on secret_projects from anon;
  grant select on big_clients to anon;
`;
