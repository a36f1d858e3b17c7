import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import { wholeFile } from '../../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../../harness/postgres.ts';
import { ROWS, type WriteCase } from './cases.ts';

/** A view over an outer join, with the keys of both tables, and one with only a part of the second key. */
const FIXTURE = `
  create table owners (id int primary key, name text);
  create table pets (owner_id int references owners, number int, name text, primary key (owner_id, number));
  insert into owners values (1, 'Ann'), (2, 'Bob');
  insert into pets values (1, 1, 'Rex'), (1, 2, 'Tom');
  create view households as
    select o.id, o.name, p.owner_id, p.number as "pet no", p.name as pet from owners o left join pets p on p.owner_id = o.id;
  create view pet_numbers as select o.id, p.number from owners o join pets p on p.owner_id = o.id;
  create function write_household() returns trigger language plpgsql as $$ begin
    if tg_op = 'DELETE' then
      delete from pets where owner_id = old.owner_id and number = old."pet no";
      delete from owners where id = old.id and old.owner_id is null;
      return old;
    end if;
    insert into owners values (new.id, new.name);
    if new.owner_id is not null then insert into pets values (new.owner_id, new."pet no", new.pet); end if;
    return new;
  end $$;
  create trigger t instead of insert or delete on households for each row execute function write_household();
  create function write_number() returns trigger language plpgsql
    as $$ begin insert into pets values (new.id, new.number); return new; end $$;
  create trigger t instead of insert on pet_numbers for each row execute function write_number();
  grant all on all tables in schema public to anon;
`;

const file = wholeFile();
let db: TestDatabase;
let gw: Gateway;
beforeAll(async () => {
  db = await postgres(FIXTURE);
  const location = `dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_tx_end rollback;`;
  gw = await startGateway(file, `server { location /api/ { ${location} } }`);
});

const LOCATION = 'return=headers-only';
const cases: readonly WriteCase[] = [
  {
    it: 'POST gives the keys of all its tables',
    call: 'POST households',
    body: { id: 3, name: 'Cid', owner_id: 3, 'pet no': 1, pet: 'Kim' },
    prefer: LOCATION,
    expected: { status: 201, location: '/api/households?id=eq.3&owner_id=eq.3&pet%20no=eq.1' },
  },
  {
    it: 'POST gives is.null for a part of the key that is null',
    call: 'POST households',
    body: { id: 3, name: 'Cid' },
    prefer: LOCATION,
    expected: { status: 201, location: '/api/households?id=eq.3&owner_id=is.null&pet%20no=is.null' },
  },
  {
    it: 'POST leaves out a key that the view does not show as a whole',
    call: 'POST pet_numbers',
    body: { id: 2, number: 7 },
    prefer: LOCATION,
    expected: { status: 201, location: '/api/pet_numbers?id=eq.2' },
  },
  {
    it: 'DELETE with a limit touches one row of those with the same first key',
    call: 'DELETE households?id=eq.1&order=pet.desc&limit=1',
    prefer: ROWS,
    expected: { status: 200, json: [{ id: 1, name: 'Ann', owner_id: 1, 'pet no': 2, pet: 'Tom' }] },
  },
  {
    it: 'DELETE with a limit finds a row whose key is partly null',
    call: 'DELETE households?pet=is.null&order=id&limit=1&select=id,owner_id',
    prefer: ROWS,
    expected: { status: 200, json: [{ id: 2, owner_id: null }] },
  },
];

test.each(cases)('a view over several tables: $it', async ({ call, body, prefer, expected }) => {
  await gw.expect(call.replace(' ', ' /api/'), expected, {
    headers: { ...(prefer !== undefined && { prefer }), 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
});

test('the location of a row of a view over several tables leads to that row', async () => {
  const found = await gw.fetch('/api/households?id=eq.2&owner_id=is.null&pet%20no=is.null&select=name');
  expect(JSON.parse(found.body)).toEqual([{ name: 'Bob' }]);
});
