import { describe } from 'vitest';
import { type FaultCase, fixtureGateway, givesFaults, givesRows, type RowsCase } from '../fixture/gateway.ts';

const gateway = fixtureGateway();

const trees: readonly RowsCase[] = [
  ['clients?select=id&or=(id.eq.1,name.eq.Core)&order=id', [{ id: 1 }, { id: 3 }]],
  ['clients?select=id&not.or=(id.eq.1,id.eq.2)&order=id', [{ id: 3 }, { id: 4 }]],
  ['clients?select=id&not.and=(id.gt.1,id.lt.4)&order=id', [{ id: 1 }, { id: 4 }]],
  ['clients?select=id&and=(id.gt.1,not.or(id.eq.2,and(id.eq.3,city.eq.Oslo)))', [{ id: 4 }]],
  ['clients?select=id&or=(name.not.like.A*,id.eq.1)&id=lt.3&order=id', [{ id: 1 }, { id: 2 }]],
  ['clients?select=id&or=( id.eq.1, and( city.eq.Oslo, rank.eq.low) )&order=id', [{ id: 1 }, { id: 3 }]],
  [
    'clients?select=id&and=( and ( id.in.( 1, 2, 3 ) , id.gt.1 ) , not.or ( id.eq.2 , id.eq.4 ) )',
    [{ id: 3 }],
  ],
  ['clients?select=id&and=(id.in.(1,2),city.not.is.null)&or=(id.eq.2,id.eq.3)', [{ id: 2 }]],
  ['clients?select=id&or=(notes->>vip.eq.true,notes->contact->>name.eq.Zoe)', [{ id: 1 }]],
  ['clients?select=id&id=gt.1&id=lt.3', [{ id: 2 }]],
  ['products?select=id&or=(name.eq."100% \\"Glue\\", (new)",id.eq.1)&order=id', [{ id: 1 }, { id: 4 }]],
  ['products?select=id&name=eq.100% "Glue", (new)', [{ id: 4 }]],
  ['products?select=id&name=in.("100% \\"Glue\\", (new)",Saw)&order=id', [{ id: 2 }, { id: 4 }]],
  ['products?select=id&or=(tags.cs.{tool,steel},tags.ov.{"two words"})&order=id', [{ id: 1 }, { id: 3 }]],
  ['products?select=id&or=(tags.eq.{},id.eq.9)', [{ id: 4 }]],
  ['products?select=id&or=(name.like.*"*,name.ilike.*SAW*)&order=id', [{ id: 2 }, { id: 4 }]],
];
const closed: readonly RowsCase[] = [
  ['clients?select=id&or=(id.eq.1,id.eq.3))&order=id', [{ id: 1 }, { id: 3 }]],
  ['clients?select=id&and=(id.gt.1,or(id.eq.2,id.eq.1)) ))', [{ id: 2 }]],
  ['clients?select=id&id=in.(1,3))&order=id', [{ id: 1 }, { id: 3 }]],
];
describe('parentheses that close nothing', () => {
  givesRows(gateway, closed);
  givesFaults(gateway, [
    ['clients?select=id&and=(id.gt.1),id.lt.3)', 400, 'PGRST100'],
    ['clients?select=id&or=(id.in.(1,2)),id.eq.3)', 400, 'PGRST100'],
  ]);
});

describe('logic trees', () => {
  givesRows(gateway, trees);
});

const paths: readonly RowsCase[] = [
  ['clients?select=name->x&id=eq.1', [{ x: null }]],
  ['settings_log?select=old->a->b->2->>c&id=eq.1', [{ c: 'deep' }]],
  ['settings_log?select=x:old->a->b->0,y:old->a->b->-1->c&id=eq.1', [{ x: 10, y: 'deep' }]],
  [
    'settings_log?select=new->"quo\\"te",new->x y,old->>1,old->dash-key&id=eq.1',
    [{ 'quo"te': 2, 'x y': 'spaced', old: null, 'dash-key': true }],
  ],
  [
    'settings_log?select=new->quo"te,x:new->>a"-b"&new->quo"te=eq.2&order=new->quo"te',
    [{ 'quo"te': 2, x: null }],
  ],
  ['settings_log?select=old->"1"&id=eq.1', [{ '1': 'one' }]],
  ['settings_log?select=old->1,new->>1&id=eq.2', [{ old: 'two', new: 'two' }]],
  ['settings_log?select=id&old->a->b->>0=eq.10', [{ id: 1 }]],
  ['settings_log?select=id&new->x y=eq."spaced"', [{ id: 1 }]],
  ['settings_log?select=id&new->>x y=eq.spaced', [{ id: 1 }]],
  ['settings_log?select=id&new->n=eq.1.5', [{ id: 1 }]],
  ['settings_log?select=id&new->n=in.(1.5,2)', [{ id: 1 }]],
  ['settings_log?select=id&old->0=not.is.null', [{ id: 2 }]],
  ['settings_log?select=id,new->>n&order=new->n.desc.nullslast&limit=1', [{ id: 1, n: '1.50' }]],
  [
    'samples?select=doc->a->2->>c,words->0,last:words->-1,grid->1->0&id=eq.1',
    [{ c: 'x', words: 'a', last: 'quo"te', grid: 3 }],
  ],
  ['samples?select=cost->amount,cost->>currency&id=eq.1', [{ amount: 1.5, currency: 'EUR' }]],
  ['clients?select=notes->clé à molette->"a.b"&id=eq.4', [{ 'a.b': 1 }]],
  [
    'products?select=attributes->sizes->0::text,w:attributes->>weight::float8&id=eq.1',
    [{ sizes: '1', w: 1.5 }],
  ],
  [
    'profiles?select=settings->>theme,tab:settings->tabs->2&employee_id=eq.1',
    [{ theme: 'dark', tab: { x: null } }],
  ],
];
describe('JSON paths', () => {
  givesRows(gateway, paths);
});

const badPaths: readonly FaultCase[] = [
  ['settings_log?select=old->>--34', 400, 'PGRST100', { details: 'unexpected "-" expecting digit' }],
  ['settings_log?old->--34=eq.1', 400, 'PGRST100'],
  ['settings_log?order=old->>-', 400, 'PGRST100'],
  ['settings_log?select=old->>""', 400, 'PGRST100'],
  ['settings_log?select=old->> ', 400, 'PGRST100'],
  ['settings_log?old->>""=eq.1', 400, 'PGRST100'],
  ['settings_log?select=old->>a%00b', 400, 'PGRST100'],
  ['settings_log?select=old->>"a%00b"', 400, 'PGRST100'],
  ['settings_log?select=x%00:old', 400, 'PGRST100'],
  ['settings_log?select="x%00":old', 400, 'PGRST100'],
  ['settings_log?or=(old->>a%00.eq.1)', 400, 'PGRST100'],
];
describe('JSON paths and aliases that PostgreSQL cannot take', () => {
  givesFaults(gateway, badPaths);
});

const selects: readonly RowsCase[] = [
  ['clients?select=n:id,"who is":name,city&id=eq.1', [{ n: 1, 'who is': 'Acme', city: 'Rome' }]],
  ['clients?select= id , name &id=eq.1', [{ id: 1, name: 'Acme' }]],
  ['clients?select=id,id,other:id&id=eq.1', [{ id: 1, other: 1 }]],
  [
    'clients?select=&id=eq.2',
    [
      {
        id: 2,
        name: 'Bolt',
        city: 'Oslo',
        rank: 'normal',
        created: '2024-01-01T00:00:00+00:00',
        notes: { vip: false, tags: [] },
      },
    ],
  ],
  [
    'clients?select=id::text,rank::text,created::date&id=eq.1',
    [{ id: '1', rank: 'high', created: '2024-01-01' }],
  ],
  [
    'samples?select=words::text,grid::text[]&id=eq.1',
    [
      {
        words: '{a,"b c",NULL,"quo\\"te"}',
        grid: [
          ['1', '2'],
          ['3', '4'],
        ],
      },
    ],
  ],
  [
    'samples?select=ratio::numeric(3,0),body::varchar(5),at_tz::timestamp(0) with time zone,mail::email&id=eq.1',
    [{ ratio: 0, body: 'The q', at_tz: '2001-02-03T02:05:06+00:00', mail: 'a@b.c' }],
  ],
  [
    'samples?select=level::public.priority,body::public.title,cost::text&id=eq.1',
    [{ level: 'high', body: 'The quick brown fox', cost: '(1.50,EUR)' }],
  ],
  ['samples?select=ratio,born,at&id=eq.3', [{ ratio: 'NaN', born: 'infinity', at: '-infinity' }]],
  ['products?select=label,gross&id=eq.1', [{ label: 'Hammer for 10.00', gross: 12.2 }]],
  [
    'products?select=attributes_size->length,only_tools&label=like.Saw*',
    [{ length: 15, only_tools: 'tools' }],
  ],
  [
    'clients?select=id,initials&initials=in.(A,C)&order=initials.desc',
    [
      { id: 3, initials: 'C' },
      { id: 1, initials: 'A' },
    ],
  ],
  ['counters?select=id,doubled,label&step=eq.2', [{ id: 2, doubled: 4, label: 'count' }]],
  ['wide?select=c1,c120', [{ c1: 1, c120: 120 }]],
];
describe('columns', () => {
  givesRows(gateway, selects);
});

const orders: readonly RowsCase[] = [
  ['clients?select=id&order=city.asc.nullsfirst,id.desc', [4, 3, 2, 1].map((id) => ({ id }))],
  ['clients?select=id&order=city.desc.nullslast,id', [1, 2, 3, 4].map((id) => ({ id }))],
  ['clients?select=id&order=city,id', [2, 3, 1, 4].map((id) => ({ id }))],
  ['clients?select=id&order=city.desc,id.asc', [4, 1, 2, 3].map((id) => ({ id }))],
  ['clients?select=id&order=rank.desc', [4, 1, 2, 3].map((id) => ({ id }))],
  ['clients?select=id&order=notes->contact->>age.nullslast,id.desc', [1, 4, 3, 2].map((id) => ({ id }))],
  ['products?select=id&order=label.desc', [3, 2, 1, 4].map((id) => ({ id }))],
  [
    'orders?order=clients(name).desc.nullslast,id&select=id,clients(name)',
    [
      { id: 3, clients: { name: 'Bolt' } },
      { id: 1, clients: { name: 'Acme' } },
      { id: 2, clients: { name: 'Acme' } },
      { id: 4, clients: null },
    ],
  ],
  [
    'orders?select=id,c:clients()&order=c(notes->>vip).desc.nullslast,id.desc',
    [2, 1, 3, 4].map((id) => ({ id })),
  ],
  ['employees?select=id,profiles()&order=profiles(nickname),id', [1, 2, 3, 4, 5].map((id) => ({ id }))],
  [
    'order_items?select=order_id,line&order=order_id.desc,line&limit=2&offset=1',
    [
      { order_id: 3, line: 2 },
      { order_id: 2, line: 1 },
    ],
  ],
  ['clients?select=id&order=&limit=1&id=eq.2', [{ id: 2 }]],
];
describe('orders', () => {
  givesRows(gateway, orders);
});

const faults: readonly FaultCase[] = [
  ['clients?select=nope', 400, '42703', { message: 'column clients.nope does not exist' }],
  ['clients?select=id::nope', 400, '42704', { message: 'type "nope" does not exist' }],
  ['clients?select=id::private.x', 400, '42704'],
  ['clients?select=name::text(3)', 400, 'PGRST100'],
  ['clients?select=name::int', 400, '22P02'],
  [
    'clients?select=id,',
    400,
    'PGRST100',
    { message: '"failed to parse select parameter (id,)" (line 1, column 4)' },
  ],
  [
    'clients?select=id,(',
    400,
    'PGRST100',
    { message: '"failed to parse select parameter (id,()" (line 1, column 4)' },
  ],
  [
    'clients?order=id.descc',
    400,
    'PGRST100',
    {
      message: '"failed to parse order (id.descc)" (line 1, column 8)',
      details: `unexpected 'c' expecting delimiter (.), "," or end of input`,
    },
  ],
  [
    'clients?order=id.asc.nullslasttt',
    400,
    'PGRST100',
    {
      message: '"failed to parse order (id.asc.nullslasttt)" (line 1, column 17)',
      details: `unexpected 't' expecting "," or end of input`,
    },
  ],
  ['clients?order=nope', 400, '42703'],
  [
    'clients?or=()',
    400,
    'PGRST100',
    {
      message: '"failed to parse logic tree (())" (line 1, column 4)',
      details:
        'unexpected ")" expecting field name (* or [a..z0..9_$]), negation operator (not) or logic operator (and, or)',
    },
  ],
  [
    'clients?or=)(',
    400,
    'PGRST100',
    {
      message: '"failed to parse logic tree ()()" (line 1, column 3)',
      details: 'unexpected ")" expecting "("',
    },
  ],
  ['clients?and=(id.eq.1,nope.eq.1)', 400, '42703'],
  ['clients?and=(id.eq.1', 400, 'PGRST100'],
  ['clients?limit=x', 400, 'PGRST100'],
  ['clients?limit=-1', 416, 'PGRST103', { details: 'Limit should be greater than or equal to zero.' }],
  ['clients?select=id&select=name', 400, 'PGRST100'],
  ['nope', 404, 'PGRST205', { message: "Could not find the table 'public.nope' in the schema cache" }],
  ['client', 404, 'PGRST205', { hint: "Perhaps you meant the table 'public.clients'" }],
  ['clients/1', 404, 'PGRST125', { message: 'Invalid path specified in request URL' }],
];
describe('missing or unreadable columns', () => {
  givesFaults(gateway, faults);
});
