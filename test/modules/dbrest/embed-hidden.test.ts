import { expect, test } from 'vitest';
import { faultOf, pipeline } from './pipeline.ts';

const junction = (name: string): string => `
  create table ${name} (item_id int references items, tag_id int references tags, primary key (item_id, tag_id));
  insert into ${name} values (1, 1);`;

const shop = pipeline(`
  create table items (id int primary key);
  create table tags (id int primary key);
  insert into items values (1);
  insert into tags values (1);
  ${junction('open_tags')} ${junction('other_tags')} ${junction('hidden_tags')}
  grant select on items, tags, open_tags to anon, web_user;
  grant select on other_tags to web_user;
`);

test('a junction that the role may not use makes no embed ambiguous', async () => {
  expect(await shop.it.rows('items?select=id,tags(id)')).toEqual([{ id: 1, tags: [{ id: 1 }] }]);
});

test('an ambiguous embed names only relationships that the role may use', async () => {
  const fault = await faultOf(() => shop.it.rows('items?select=id,tags(id)', { role: 'web_user' }));
  expect(fault).toMatchObject({ status: 300, code: 'PGRST201' });
  const text = JSON.stringify(fault);
  expect([/open_tags/.test(text), /other_tags/.test(text), /hidden_tags/.test(text)]).toEqual([
    true,
    true,
    false,
  ]);
});
