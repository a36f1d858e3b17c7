import { createHmac } from 'node:crypto';
import type { HonestRequest, Turn } from '../actor.ts';
import { ask, type Asked, type Got } from '../client.ts';
import { JWT_SECRET } from '../configuration.ts';
import { type ExpectedResponse, judge } from '../judge.ts';

const behind = ['database', 'worker'] as const;
const json = { 'content-type': 'application/json' };

async function api(
  turn: Turn,
  path: string,
  { init = {}, wanted }: { init?: Asked; wanted: ExpectedResponse },
): Promise<Got> {
  const url = `${turn.random.pick(['/api', '/pooled'])}/${path}`;
  const got = await ask(turn.stage.sites.port, url, init);
  judge(turn, `${init.method ?? 'GET'} ${url}`, { got, wanted: { ...wanted, behind } });
  return got;
}

function token(claims: Readonly<Record<string, unknown>>): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  return `${signed}.${createHmac('sha256', JWT_SECRET).update(signed).digest('base64url')}`;
}

const bearer = (claims: Readonly<Record<string, unknown>>) => ({ authorization: `Bearer ${token(claims)}` });

export const databaseRequests: readonly HonestRequest[] = [
  async function readsARow(turn) {
    const id = turn.random.between(1, 500);
    await api(turn, `fixed?id=eq.${id}`, {
      wanted: { status: 200, body: new RegExp(`"id":\\s*${id},\\s*"name":\\s*"name ${id}"`) },
    });
  },
  async function readsMany(turn) {
    const count = turn.random.between(1, 400);
    const got = await api(turn, `fixed?id=lte.${count}&order=id&select=id`, { wanted: { status: [200] } });
    if (got.status === 200 && (JSON.parse(got.body) as unknown[]).length !== count)
      turn.violation('a read gives another number of rows', `${count}: ${got.body.slice(0, 300)}`);
  },
  async function isWhoItSays(turn) {
    const role = turn.random.pick(['anon', 'reader', 'writer']);
    const mark = turn.random.word(12);
    const headers = role === 'anon' ? {} : bearer({ role, mark });
    const marked = role === 'anon' ? '' : `"mark":\\s*"${mark}"`;
    await api(turn, 'rpc/who', {
      init: { headers },
      wanted: { status: 200, body: new RegExp(`"role"\\s*:\\s*"${role}".*${marked}`) },
    });
  },
  async function isNobody(turn) {
    const broken = token({ role: 'writer' }).slice(0, -turn.random.between(2, 6));
    const headers = { authorization: `Bearer ${broken}x` };
    await api(turn, 'rpc/who', { init: { headers }, wanted: { status: 200, body: /"role" : "anon"/ } });
  },
  async function writesAndRemoves(turn) {
    const name = turn.random.word(12);
    const headers = { ...json, ...bearer({ role: 'writer' }), prefer: 'return=representation' };
    const body = JSON.stringify({ name, price: turn.random.below(1000), tags: { a: [1, 2] } });
    const got = await api(turn, 'items', {
      init: { method: 'POST', headers, body },
      wanted: { status: 201, body: new RegExp(name) },
    });
    if (got.status !== 201) return;
    const filter = `items?name=eq.${name}`;
    await api(turn, filter, {
      init: { method: 'PATCH', headers, body: '{"price":1}' },
      wanted: { status: [200, 204, 404], body: /"price":\s*1\b/ },
    });
    await api(turn, filter, {
      init: { method: 'DELETE', headers },
      wanted: { status: 200, body: new RegExp(name) },
    });
  },
  async function mayNot(turn) {
    const got = { method: 'POST', headers: json, body: '{"note":"x"}' };
    await api(turn, 'mine', { init: got, wanted: { status: [401, 403] } });
  },
  async function raises(turn) {
    const body = JSON.stringify({ code: turn.random.pick(['P0001', '22012', '23505', 'PT418']) });
    await api(turn, 'rpc/fail', {
      init: { method: 'POST', headers: json, body },
      wanted: { status: [400, 409, 418] },
    });
  },
  async function naps(turn) {
    const body = JSON.stringify({ seconds: turn.random.below(20) / 100 });
    await api(turn, 'rpc/nap', {
      init: { method: 'POST', headers: json, body },
      wanted: { status: [200, 204] },
    });
  },
  async function isAbsent(turn) {
    await api(turn, turn.random.word(12), { wanted: { status: 404 } });
  },
];
