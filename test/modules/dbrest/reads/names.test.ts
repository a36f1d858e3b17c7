import { describe, expect, test } from 'vitest';
import { type ResponseCase, fixtureGateway, givesResponses } from '../fixture/gateway.ts';

const gateway = fixtureGateway({
  more: `location "/Ünï/" { dbrest_pass $dsn; dbrest_schemas 'Ünï çødé'; }
    location /tools/ { dbrest_pass $dsn; dbrest_extra_search_path tools; }`,
});

const odd: readonly (readonly [request: string, rows: unknown])[] = [
  ['Elter n?select="名前",Schlüssel&"quo\\"te"=eq.q"1', [{ 名前: '山田', Schlüssel: 1 }]],
  [
    'Elter n?select=*&Schlüssel=eq.1',
    [{ Schlüssel: 1, 名前: '山田', 'quo"te': 'q"1', 'back\\slash': 'b\\1' }],
  ],
  [
    'Elter n?select=名前,"back\\\\slash"&or=(名前.eq.山田,"quo\\"te".is.null)&order="back\\\\slash".nullsfirst&limit=1',
    [{ 名前: 'Zoë 😀', 'back\\slash': null }],
  ],
  ['Elter n?select="groß!"&Schlüssel=eq.2', [{ 'groß!': '«Zoë 😀»' }]],
  ['kin.d,(er)?select="i d","a->b"->"k.1"->"c,d"&"a->b"->"k.1"->>"c,d"=eq.5', [{ 'i d': 1, 'c,d': 5 }]],
  ['kin.d,(er)?select=i d,UPPER&"UPPER"=eq.A', [{ 'i d': 2, UPPER: 'A' }]],
  ['kin.d,(er)?select=i d&upper=eq.A', 'column kin.d,(er).upper does not exist'],
  ['kin.d,(er)?select=i d&st=eq.öff, "really" (no)', [{ 'i d': 2 }]],
  [
    'kin.d,(er)?select=i d&or=(st.eq."öff, \\"really\\" (no)","i d".eq.1)&order=i d',
    [{ 'i d': 1 }, { 'i d': 2 }],
  ],
  ['kin.d,(er)?select=st::"Stäte \\"x\\"",x:"i d"::text&i d=eq.1', [{ st: 'on', x: '1' }]],
  [
    'Elter n?select=名前,"kin.d,(er)"(i d)&Schlüssel=eq.1&"kin.d,(er)".order=i d',
    [{ 名前: '山田', 'kin.d,(er)': [{ 'i d': 1 }, { 'i d': 2 }] }],
  ],
  [
    'kin.d,(er)?select=i d,"Elter n"!"die Eltern"(名前)&i d=eq.1',
    [{ 'i d': 1, 'Elter n': { 名前: '山田' } }],
  ],
  [
    'kin.d,(er)?select=i d,"Elter:Schlüssel"(名前)&i d=eq.1',
    [{ 'i d': 1, 'Elter:Schlüssel': { 名前: '山田' } }],
  ],
  [
    'kin.d,(er)?select=i d,"äl t":"Elter n"!inner(名前)&"äl t".名前=eq.山田&order=i d.desc&limit=1',
    [{ 'i d': 2, 'äl t': { 名前: '山田' } }],
  ],
  [
    'params?select=select,order,limit,offset,and,or,not,on_conflict,columns&not=eq.7',
    [{ select: 1, order: 2, limit: 3, offset: 4, and: 5, or: 6, not: 7, on_conflict: 8, columns: 9 }],
  ],
  ['params?select=limit&and=(select.eq.1,order.eq.2,limit.eq.3,and.eq.5,or.eq.6,not.eq.7)', [{ limit: 3 }]],
  ['params?select=select&order=order.desc,limit&limit=1', [{ select: 11 }]],
  [
    'x; drop table y?select="*","count","a.b","😀"&"a.b"=eq.8',
    [{ '*': 'star', count: 7, 'a.b': 8, '😀': 'smile' }],
  ],
  ['x; drop table y?select=count,n:count()', [{ count: 7, n: 1 }]],
];
describe('unicode and quoted names', () => {
  const profile = { 'accept-profile': 'Ünï çødé' };
  for (const [request, rows] of odd) {
    test(request, async () => {
      const { body, status, headers } = await gateway.ask(`/all/${request}`, profile);
      const found = JSON.parse(body) as { message?: string };
      expect(found.message ?? found).toEqual(rows);
      if (status !== 200) return;
      expect(Buffer.from(headers.get('content-profile') ?? '', 'latin1').toString()).toBe('Ünï çødé');
    });
  }
});

const profiles: readonly ResponseCase[] = [
  {
    request: '/all/clients?select=id,name',
    with: { 'accept-profile': 'archive' },
    status: 200,
    json: [{ id: 1, name: 'Old Acme' }],
    headers: { 'content-profile': 'archive' },
  },
  {
    request: '/all/clients?select=name&id=eq.1',
    status: 200,
    json: [{ name: 'Acme' }],
    headers: { 'content-profile': 'public' },
  },
  {
    request: '/all/clients?select=name&id=eq.1',
    with: { 'content-profile': 'archive' },
    json: [{ name: 'Acme' }],
  },
  { request: 'clients?select=name&id=eq.1', json: [{ name: 'Acme' }], headers: { 'content-profile': null } },
  {
    request: '/all/orders?select=id,clients(name)',
    with: { 'accept-profile': 'archive' },
    json: [{ id: 7, clients: { name: 'Old Acme' } }],
  },
  { request: '/all/clients?select=closed', status: 400 },
  {
    request: '/all/clients',
    with: { 'accept-profile': 'private' },
    status: 406,
    json: {
      code: 'PGRST106',
      message: 'Invalid schema: private',
      details: null,
      hint: 'Only the following schemas are exposed: public, archive, Ünï çødé',
    },
  },
  { request: '/api/clients', with: { 'accept-profile': 'archive' }, status: 406 },
  {
    request: '/all/clients',
    with: { 'accept-profile': 'nowhere' },
    status: 406,
    headers: { 'proxy-status': 'gw; error=PGRST106' },
  },
  {
    request: 'HEAD /all/clients',
    with: { 'accept-profile': 'archive' },
    status: 200,
    body: '',
    headers: { 'content-profile': 'archive' },
  },
  { request: '/Ünï/params?select=select&limit=1&order=select', status: 200, json: [{ select: 1 }] },
  { request: 'select?select=from,where', status: 200, json: [{ from: 1, where: 'somewhere' }] },
  { request: 'products?select=only_tools&id=eq.1', status: 200, json: [{ only_tools: 'tools' }] },
  { request: 'products?select=hidden&id=eq.1', status: 400, headers: { 'proxy-status': 'gw; error=42703' } },
  { request: '/tools/whoami?select=search_path', json: [{ search_path: '"public", "tools"' }] },
];
describe('schemas and search paths', () => {
  givesResponses(gateway, profiles);
});
