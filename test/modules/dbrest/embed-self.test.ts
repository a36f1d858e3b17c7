import { expect, test } from 'vitest';
import { pipeline } from './pipeline.ts';
import { SHOP } from './shop.ts';

const shop = pipeline(SHOP);

const selves: [request: string, rows: unknown][] = [
  [
    'users?select=name,users(name)&id=lt.3&order=id',
    [
      { name: 'Ann', users: [{ name: 'Bob' }, { name: 'Cid' }] },
      { name: 'Bob', users: [{ name: 'Dee' }] },
    ],
  ],
  [
    'users?select=name,boss_id(name)&id=lt.3&order=id',
    [
      { name: 'Ann', boss_id: null },
      { name: 'Bob', boss_id: { name: 'Ann' } },
    ],
  ],
  [
    'users?select=name,boss:users_boss_id_fkey(name)&id=lt.3&order=id',
    [
      { name: 'Ann', boss: null },
      { name: 'Bob', boss: { name: 'Ann' } },
    ],
  ],
  [
    'users?select=name,reports:users!boss_id(name)&id=lt.3&order=id',
    [
      { name: 'Ann', reports: [{ name: 'Bob' }, { name: 'Cid' }] },
      { name: 'Bob', reports: [{ name: 'Dee' }] },
    ],
  ],
  [
    'users?select=name,reports:users!users_boss_id_fkey(name)&id=lt.3&order=id',
    [
      { name: 'Ann', reports: [{ name: 'Bob' }, { name: 'Cid' }] },
      { name: 'Bob', reports: [{ name: 'Dee' }] },
    ],
  ],
  [
    'users?select=name,follows:users!follows_followed_id_fkey(name)&id=lt.3&order=id',
    [
      { name: 'Ann', follows: [{ name: 'Bob' }, { name: 'Cid' }] },
      { name: 'Bob', follows: [{ name: 'Cid' }] },
    ],
  ],
  [
    'users?select=name,followers:users!follower_id(name)&id=lt.4&order=id',
    [
      { name: 'Ann', followers: [] },
      { name: 'Bob', followers: [{ name: 'Ann' }] },
      { name: 'Cid', followers: [{ name: 'Ann' }, { name: 'Bob' }] },
    ],
  ],
];

test.each(selves)('rows embed rows of their own table: %s', async (request, rows) => {
  expect(await shop.it.rows(request)).toEqual(rows);
});
