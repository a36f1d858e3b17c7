import { expect, test } from 'vitest';
import { writeGateway } from './writes/cases.ts';

const gateway = writeGateway();

const DISTINCT = 'Rows that differ are "distinct=on.*", the first row for each value "distinct=on.(column)".';
const HAVING = 'An aggregate is compared, not a name of the response: "having=amount.sum().gt.100".';
const FILTERED = 'Aggregates are filtered by "having", for example "having=count().gt.3".';
const SHOWN = 'With "distinct=on.*", "order" names what "select" shows.';
const ofRows = (name: string): string =>
  `Order by an aggregate of its rows, for example "${name}(count)" or "${name}(amount.sum())".`;
const CONSTRAINT = '"on_conflict" takes the columns of a key, not the name of its constraint.';
const KEY =
  '"on_conflict" names the columns of the primary key or of a unique or exclusion constraint, all of them and no others.';
const COLUMNS = '"columns=" names the keys that count';
const MISSING = `${COLUMNS}, and "Prefer: missing=default" gives defaults for those that are missing.`;

const cases: [request: string, hint: string | null, body?: string][] = [
  ['GET clients?distinct=true', DISTINCT],
  ['GET clients?select=city&distinct=on.city', DISTINCT],
  ['GET clients?select=id,orders(id)&orders.distinct=id', DISTINCT],
  ['GET clients?distinct=eq.1', null],
  ['GET orders?select=client_id,total:discount.sum()&having=total.gt.1', HAVING],
  ['GET orders?select=client_id,total:discount.sum()&total=gt.1', FILTERED],
  ['GET orders?select=client_id,count()&count=gt.1', FILTERED],
  ['GET clients?select=id,orders(count())&orders.count=gt.1', FILTERED],
  ['GET orders?select=client_id&or=(client_id.eq.1,count.gt.1)', FILTERED],
  ['GET orders?statu=eq.new', 'Perhaps you meant to reference the column "orders.status".'],
  ['GET clients?select=id,orders()&order=orders(sum(discount))', ofRows('orders')],
  ['GET clients?select=id,orders()&order=orders(discount)', ofRows('orders')],
  ['GET clients?order=sum(id)', 'An aggregate is written behind its column: "amount.sum()".'],
  [
    'GET orders?select=id,clients()&order=clients(count())',
    'Order by a column of its row, for example "clients(name)".',
  ],
  ['GET clients?select=city&distinct=on.*&order=name', SHOWN],
  ['GET orders?distinct=on.(client_id)&order=id', 'Begin "order" with what "distinct" names.'],
  ['POST sensors', `Element 2 of the list has no 'name': ${MISSING}`, '[{"id":8,"name":"a"},{"id":9}]'],
  [
    'POST sensors',
    `Element 3 of the list has 'name', which the first one has not: ${MISSING}`,
    '[{"id":7},{"id":8},{"id":9,"name":"a"}]',
  ],
  ['POST sensors', 'Element 2 of the list is not an object.', '[{"id":8},9]'],
  ['POST rpc/add_them', `Element 2 of the list has no 'b': ${COLUMNS}.`, '[{"a":1,"b":2},{"a":1}]'],
  ['POST clients?on_conflict=clients_name_city_key', CONSTRAINT, '[{"name":"a"}]'],
  [
    'POST clients?on_conflict=nam',
    'Perhaps you meant to reference the column "clients.name".',
    '[{"name":"a"}]',
  ],
  ['POST clients?on_conflict=name', KEY, '[{"name":"a"}]'],
  ['PATCH clients?on_conflict=clients_name_city_key', CONSTRAINT, '[{"name":"a"},{"name":"b"}]'],
];

test.each(cases)('%s is refused with the hint %j', async (request, hint, body) => {
  const line = encodeURI(request).replace('%20', ' /try/');
  const headers = { prefer: 'resolution=merge-duplicates' };
  const { body: shown, status } = await gateway.gw.expect(line, {}, { headers, ...(body && { body }) });
  expect([status, JSON.parse(shown)]).toMatchObject([400, { hint }]);
});
