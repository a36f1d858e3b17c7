import { expect, test } from 'vitest';
import {
  headersOf,
  type RestCall,
  SNIPPETS,
  urlOf,
} from '../../../../src/modules/control/console/page/rest-call.ts';

const READ: RestCall = {
  method: 'GET',
  base: 'http://gw/rest',
  path: '/todos',
  kind: 'table',
  name: 'todos',
  select: '',
  filters: [],
  order: '',
  limit: '',
  body: '',
  token: '',
};
const filter = (column: string, operator: string, value: string) => ({ column, operator, value });

const cases: readonly { it: string; call: Partial<RestCall>; url: string; curl: string; supabase: string }[] =
  [
    {
      it: 'a plain read',
      call: {},
      url: 'http://gw/rest/todos',
      curl: `curl 'http://gw/rest/todos'`,
      supabase: `  .from('todos')\n  .select();`,
    },
    {
      it: 'a read with every option',
      call: {
        select: 'id,task',
        filters: [filter('done', 'is', 'false'), filter('id', 'in', '(1, 2)'), filter('a b', 'fts', 'x&y')],
        order: 'id.desc,task',
        limit: '5',
        token: 'secret',
      },
      url: 'http://gw/rest/todos?select=id,task&done=is.false&id=in.(1,%202)&a%20b=fts.x%26y&order=id.desc,task&limit=5',
      curl: `curl 'http://gw/rest/todos?select=id,task&done=is.false&id=in.(1,%202)&a%20b=fts.x%26y&order=id.desc,task&limit=5' \\\n  -H "Authorization: Bearer $TOKEN"`,
      supabase: `  .from('todos')
  .select('id,task')
  .is('done', false)
  .in('id', ['1', '2'])
  .filter('a b', 'fts', 'x&y')
  .order('id', { ascending: false })
  .order('task')
  .limit(5);`,
    },
    {
      it: 'an order by aggregates',
      call: { order: 'amount.sum(),orders(count).desc.nullslast' },
      url: 'http://gw/rest/todos?order=amount.sum(),orders(count).desc.nullslast',
      curl: `curl 'http://gw/rest/todos?order=amount.sum(),orders(count).desc.nullslast'`,
      supabase: `  .order('amount.sum()')\n  .order('orders(count)', { ascending: false, nullsFirst: false });`,
    },
    {
      it: 'a new row with a quote in it',
      call: { method: 'POST', body: `{"task":\n "it's"}` },
      url: 'http://gw/rest/todos',
      curl: `curl 'http://gw/rest/todos' \\\n  -H 'Content-Type: application/json' \\\n  -H 'Prefer: return=representation' \\\n  --data '{"task":"it'\\''s"}'`,
      supabase: `  .from('todos')\n  .insert({"task":"it's"})\n  .select();`,
    },
    {
      it: 'a removal',
      call: { method: 'DELETE', filters: [filter('id', 'eq', '1')] },
      url: 'http://gw/rest/todos?id=eq.1',
      curl: `curl 'http://gw/rest/todos?id=eq.1' \\\n  -X DELETE \\\n  -H 'Prefer: return=representation'`,
      supabase: `  .from('todos')\n  .delete()\n  .eq('id', '1');`,
    },
    {
      it: 'a call by GET',
      call: { kind: 'function', path: '/rpc/add', name: 'add', filters: [filter('a', '', '1')] },
      url: 'http://gw/rest/rpc/add?a=1',
      curl: `curl 'http://gw/rest/rpc/add?a=1'`,
      supabase: `  .rpc('add', {"a":"1"}, { get: true });`,
    },
    {
      it: 'a call by POST',
      call: { kind: 'function', path: '/rpc/add', name: 'add', method: 'POST', body: '{"a": 1}' },
      url: 'http://gw/rest/rpc/add',
      curl: `curl 'http://gw/rest/rpc/add' \\\n  -H 'Content-Type: application/json' \\\n  --data '{"a":1}'`,
      supabase: `  .rpc('add', {"a":1});`,
    },
  ];

const snippet = (name: string, call: RestCall) => SNIPPETS.find((one) => one.name === name)?.text(call) ?? '';

for (const { it, call, url, curl, supabase } of cases) {
  test(`${it} is the same call for every client`, () => {
    const whole = { ...READ, ...call };
    expect(urlOf(whole)).toBe(url);
    expect(snippet('curl', whole)).toBe(curl);
    expect(snippet('supabase-js', whole)).toContain(supabase);
    expect(snippet('fetch', whole)).toContain(`fetch('${url}'`);
  });
}

test('no snippet shows the token, and the call sends it', () => {
  const call = { ...READ, token: 'the-secret' };
  for (const { text } of SNIPPETS) expect(text(call)).not.toContain('the-secret');
  expect(headersOf(call)).toMatchObject({ Authorization: 'Bearer the-secret' });
});
