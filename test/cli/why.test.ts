import { expect, test, vi } from 'vitest';
import { why } from '../../bin/check/why.ts';
import { ruleCatalogue } from '../../src/pipeline.ts';

const { rules: RULES } = await ruleCatalogue();

/** What `gw why` prints, and its exit code. */
async function said(
  name: string | undefined,
  options: Parameters<typeof why>[1] = {},
): Promise<[number, string, string]> {
  const out = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const talk = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    const code = await why(name, options);
    return [
      code,
      out.mock.calls.map(([text]) => String(text)).join(''),
      talk.mock.calls.map(String).join(''),
    ];
  } finally {
    out.mockRestore();
    talk.mockRestore();
  }
}

test.for(RULES)('gw why $id gives the reason, both examples and the fix', async (rule) => {
  const [code, text] = await said(rule.id);
  expect(code).toBe(0);
  const words = text.replace(/\s+/g, ' ');
  expect(text.startsWith(`${rule.id} ${rule.slug} (${rule.severity}`)).toBe(true);
  for (const part of [rule.summary, rule.why, `fix: ${rule.fix}`, rule.bad.text, rule.good.text])
    expect(words).toContain(part.replace(/\s+/g, ' ').trim());
  for (const line of text.split('\n')) expect(line).toBe(line.trimEnd());
});

test('gw why takes the slug and any case of the id', async () => {
  expect(await said('alias-traversal')).toEqual(await said('GW301'));
  expect(await said('gw301')).toEqual(await said('GW301'));
});

test('gw why --list names every rule once, as text and as JSON', async () => {
  const [, text] = await said(undefined, { list: true });
  expect(text.match(/^GW\d+/gm)).toEqual(RULES.map(({ id }) => id));
  const listed = JSON.parse((await said(undefined, { list: true, format: 'json' }))[1]) as { id: string }[];
  expect(listed.map(({ id }) => id)).toEqual(RULES.map(({ id }) => id));
  expect(listed[0]).toMatchObject({ slug: RULES[0]?.slug, why: RULES[0]?.why, bad: RULES[0]?.bad });
});

const wrong: readonly (readonly [
  name: string | undefined,
  options: Parameters<typeof why>[1],
  says: string,
])[] = [
  ['alias-traversl', {}, 'gw: nothing is called "alias-traversl"\n  did you mean "alias-traversal"?\n'],
  ['proxy_pas', {}, 'gw: nothing is called "proxy_pas"\n  did you mean "proxy_pass"?\n'],
  ['$hots', {}, 'gw: nothing is called "$hots"\n  did you mean "$host"?\n'],
  ['qqqqqqqqqqqq', {}, 'gw: nothing is called "qqqqqqqqqqqq"\n'],
  [undefined, {}, 'gw: name a rule, a directive or a variable; --list shows all rules\n'],
  ['root', { format: 'xml' }, 'gw: invalid format "xml"\n  expected json\n'],
];

test.for(wrong)('gw why %s is refused', async ([name, options, says]) => {
  expect(await said(name, options)).toEqual([2, '', says]);
});
