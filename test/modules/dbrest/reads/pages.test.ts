import { describe } from 'vitest';
import {
  type ResponseCase,
  type FaultCase,
  fixtureGateway,
  givesResponses,
  givesFaults,
} from '../fixture/gateway.ts';

const gateway = fixtureGateway({
  more: `location /two/ { dbrest_pass $dsn; dbrest_max_rows 2; }
    location /named/ { dbrest_pass $dsn; dbrest_max_rows 3 categories=1 clients=2 numbers=20 three_numbers=1; }
    location /hundred/ { dbrest_pass $dsn; dbrest_max_rows 100; }`,
});
const ids = (...of: number[]): object[] => of.map((id) => ({ id }));

interface Page {
  readonly status?: number;
  readonly range: string;
  readonly applied?: string;
}
const page = (
  ...[request, rows, headers, { status = 200, range, applied }]: [
    request: string,
    rows: unknown,
    headers: Record<string, string>,
    page: Page,
  ]
): ResponseCase => ({
  request,
  with: headers,
  status,
  ...(rows !== undefined && { json: rows }),
  headers: { 'content-range': range, 'range-unit': 'items', 'preference-applied': applied ?? null },
});
const exact = { prefer: 'count=exact' };
const applied = 'count=exact';

const ranges: readonly ResponseCase[] = [
  page('clients?select=id&order=id', ids(1, 2, 3, 4), {}, { range: '0-3/*' }),
  page('clients?select=id&order=id&limit=2', ids(1, 2), {}, { range: '0-1/*' }),
  page('clients?select=id&order=id&limit=2&offset=3', ids(4), {}, { range: '3-3/*' }),
  page('clients?select=id&limit=0', [], {}, { range: '*/*' }),
  page('clients?select=id&offset=9', [], {}, { range: '*/*' }),
  page('clients?select=id&order=id&offset=-4', ids(1, 2, 3, 4), {}, { range: '0-3/*' }),
  page('nothing', [], {}, { range: '*/*' }),
  page('clients?select=id&order=id', ids(2, 3), { range: '1-2' }, { range: '1-2/*' }),
  page('clients?select=id&order=id', ids(2, 3), { range: '1-2', 'range-unit': 'items' }, { range: '1-2/*' }),
  page('clients?select=id&order=id', ids(3, 4), { range: '2-' }, { range: '2-3/*' }),
  page('clients?select=id&order=id', ids(1), { range: '0-0' }, { range: '0-0/*' }),
  page('clients?select=id&order=id&limit=2', ids(2), { range: '1-9' }, { range: '1-1/*' }),
];
describe('ranges', () => {
  givesResponses(gateway, ranges);
});

const counts: readonly ResponseCase[] = [
  page('clients?select=id&order=id', ids(1, 2, 3, 4), exact, { range: '0-3/4', applied }),
  page('clients?select=id&order=id&limit=2', ids(1, 2), exact, { status: 206, range: '0-1/4', applied }),
  page('clients?select=id&order=id&limit=2&offset=2', ids(3, 4), exact, {
    status: 206,
    range: '2-3/4',
    applied,
  }),
  page('clients?select=id&city=eq.Oslo&order=id&limit=1', ids(2), exact, {
    status: 206,
    range: '0-0/2',
    applied,
  }),
  page('clients?select=id&limit=0', [], exact, { status: 206, range: '*/4', applied }),
  page('clients?select=id&offset=4', [], exact, { status: 206, range: '*/4', applied }),
  page('clients?select=id&id=gt.99', [], exact, { range: '*/0', applied }),
  page('clients?select=id,orders!inner()&order=id&limit=1', ids(1), exact, {
    status: 206,
    range: '0-0/2',
    applied,
  }),
  page('clients?select=city&distinct=on.*&order=city&limit=1', [{ city: 'Oslo' }], exact, {
    status: 206,
    range: '0-0/3',
    applied,
  }),
  page(
    'clients?select=id&distinct=on.(city)&order=city,id.desc',
    ids(1, 4),
    { ...exact, range: '1-2' },
    { status: 206, range: '1-2/3', applied },
  ),
  page('HEAD clients?select=id&distinct=on.(city)', undefined, exact, { range: '0-2/3', applied }),
  page('clients?select=city&having=count().gt.1', [{ city: 'Oslo' }], exact, { range: '0-0/1', applied }),
  page('clients?select=id,orders()&order=orders(count).desc,id&limit=1', ids(1), exact, {
    status: 206,
    range: '0-0/4',
    applied,
  }),
  page('/two/clients?select=city&distinct=on.*&order=city', [{ city: 'Oslo' }, { city: 'Rome' }], exact, {
    status: 206,
    range: '0-1/3',
    applied,
  }),
  page('clients?select=city,count()&order=city&limit=1', [{ city: 'Oslo', count: 2 }], exact, {
    status: 206,
    range: '0-0/3',
    applied,
  }),
  page(
    'clients?select=id&order=id',
    ids(2, 3),
    { ...exact, range: '1-2' },
    { status: 206, range: '1-2/4', applied },
  ),
  page('HEAD numbers', undefined, exact, { range: '0-4999/5000', applied }),
  page('HEAD numbers?limit=10', undefined, exact, { status: 206, range: '0-9/5000', applied }),
  page(
    'numbers?select=id&order=id&limit=1',
    ids(1),
    { prefer: 'count=planned' },
    { status: 206, range: '0-0/5000', applied: 'count=planned' },
  ),
  page(
    'numbers?select=id&order=id&limit=1',
    ids(1),
    { prefer: 'count=estimated' },
    { status: 206, range: '0-0/5000', applied: 'count=estimated' },
  ),
  page(
    'numbers?select=id&order=id&limit=1&id=lte.900',
    ids(1),
    { prefer: 'count=estimated' },
    { status: 206, range: '0-0/900', applied: 'count=estimated' },
  ),
];
describe('counts', () => {
  givesResponses(gateway, counts);
});

const bounded: readonly ResponseCase[] = [
  page('/two/clients?select=id&order=id', ids(1, 2), {}, { range: '0-1/*' }),
  page('/two/clients?select=id&order=id&limit=3', ids(1, 2), exact, { status: 206, range: '0-1/4', applied }),
  page('/two/clients?select=id&order=id&limit=1&offset=3', ids(4), {}, { range: '3-3/*' }),
  page('/two/clients?select=id&order=id', ids(2, 3), { range: '1-9' }, { range: '1-2/*' }),
  page(
    '/two/categories?select=id,children(id)&id=eq.1&children.order=id',
    [{ id: 1, children: ids(2, 4) }],
    {},
    { range: '0-0/*' },
  ),
  page(
    '/two/products?select=id,clients(id)&id=eq.1&clients.order=id.desc',
    [{ id: 1, clients: ids(2, 1) }],
    {},
    { range: '0-0/*' },
  ),
  page('/named/clients?select=id&order=id', ids(1, 2), {}, { range: '0-1/*' }),
  page('/named/products?select=id&order=id&id=lt.4', ids(1, 2, 3), {}, { range: '0-2/*' }),
  page(
    '/named/products?select=id,clients(id)&id=eq.1&clients.order=id.desc',
    [{ id: 1, clients: ids(2, 1) }],
    {},
    { range: '0-0/*' },
  ),
  page(
    '/named/categories?select=id,children(id)&id=eq.1&children.order=id',
    [{ id: 1, children: ids(2) }],
    {},
    { range: '0-0/*' },
  ),
  page('/named/rpc/three_numbers', [1], {}, { range: '0-0/*' }),
  page(
    'HEAD /named/numbers',
    undefined,
    { prefer: 'count=estimated' },
    { status: 206, range: '0-19/5000', applied: 'count=estimated' },
  ),
  page(
    'HEAD /hundred/numbers',
    undefined,
    { prefer: 'count=estimated' },
    { status: 206, range: '0-99/5000', applied: 'count=estimated' },
  ),
];
describe('dbrest_max_rows', () => {
  givesResponses(gateway, bounded);
});

const faults: readonly (readonly [headers: Record<string, string>, ...FaultCase])[] = [
  [
    exact,
    'clients?offset=5',
    416,
    'PGRST103',
    {
      message: 'Requested range not satisfiable',
      details: 'An offset of 5 was requested, but there are only 4 rows.',
    },
  ],
  [
    { ...exact, range: '9-12' },
    'clients',
    416,
    'PGRST103',
    { details: 'An offset of 9 was requested, but there are only 4 rows.' },
  ],
  [
    { range: '3-2' },
    'clients',
    416,
    'PGRST103',
    { details: 'The lower boundary must be lower than or equal to the upper boundary in the Range header.' },
  ],
  [{ range: 'a-b' }, 'clients', 400, 'PGRST100'],
  [{ range: 'bytes=0-1' }, 'clients', 400, 'PGRST100'],
  [{}, 'clients?limit=-1', 416, 'PGRST103', { details: 'Limit should be greater than or equal to zero.' }],
];
const beyond: readonly ResponseCase[] = [
  { request: 'clients?offset=5', with: exact, status: 416, headers: { 'content-range': '*/4' } },
  { request: 'nothing?offset=1', with: exact, status: 416, headers: { 'content-range': '*/0' } },
  { request: 'HEAD clients?offset=5', with: exact, status: 416, headers: { 'content-range': '*/4' } },
];
describe('ranges that are refused', () => {
  givesResponses(gateway, beyond);
  for (const [headers, ...fault] of faults) givesFaults(gateway, [fault], headers);
});
