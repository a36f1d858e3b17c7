import { expect, test } from 'vitest';
import { pipeline } from './pipeline.ts';
import { SHOP } from './shop.ts';

const shop = pipeline(SHOP);

const computed: [request: string, rows: unknown][] = [
  [
    'projects?select=id,label,size->name,s:size->>name&order=label.desc&limit=2',
    [
      { id: 1, label: 'Web!', name: 3, s: '3' },
      { id: 4, label: 'Inner!', name: 5, s: '5' },
    ],
  ],
  ['projects?select=id&label=eq.Web!', [{ id: 1 }]],
  ['projects?select=id&order=size->name.desc,id&limit=2', [{ id: 4 }, { id: 3 }]],
  ['project_list?select=label&label=like.web*', [{ label: 'web' }]],
  ['clients?select=projects(label)&id=eq.2', [{ projects: [{ label: 'Data!' }] }]],
];

test.each(computed)('a function of a row is a column of its table: %s', async (request, rows) => {
  expect(await shop.it.rows(request)).toEqual(rows);
});

test('functions of a row are found in the search path of the location', async () => {
  const rows = await shop.it.rows('projects?select=secret_label&id=eq.1', {
    searchPath: ['public', 'hidden'],
  });
  expect(rows).toEqual([{ secret_label: 'hidden' }]);
});
