import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';

const load = oneGateway();

/** The first line about a request in a log of JSON. */
async function lineAbout(
  gw: Awaited<ReturnType<typeof load>>,
  file: string,
): Promise<Record<string, unknown>> {
  let found: string | undefined;
  await expect
    .poll(
      () =>
        (found = gw
          .read(file)
          .split('\n')
          .find((line) => line.includes('"client"'))),
    )
    .toBeDefined();
  return JSON.parse(found as string) as Record<string, unknown>;
}

const FORBIDDEN = 'location / { deny all; }';

for (const words of ['error json', 'error format=json', 'info json', 'debug format=json']) {
  test(`error_log with "${words}" writes objects of JSON with the id of the request`, async (t) => {
    const file = `${words.replaceAll(/\W/g, '-')}.log`;
    const gw = await load(
      t,
      `log_format id "$request_id";
       server { access_log ids.log id; error_log ${file} ${words}; error_log text.log; ${FORBIDDEN} }`,
    );
    await gw.expect('GET /a?token=abc', { status: 403 }, { headers: { referer: 'http://r/?key=1' } });
    const line = await lineAbout(gw, file);
    expect(line).toMatchObject({
      level: 'error',
      msg: 'access forbidden by rule',
      client: '127.0.0.1',
      request: 'GET /a?token=*** HTTP/1.1',
      host: `127.0.0.1:${gw.port}`,
      referrer: 'http://r/?key=***',
    });
    expect(line['request_id']).toMatch(/^[0-9a-f]{32}$/);
    await expect.poll(() => gw.read('ids.log')).toContain(`${String(line['request_id'])}\n`);
    expect(gw.read('text.log')).toMatch(
      /\[error\] .*access forbidden by rule, client: .*, referrer: "[^"]*"\n/,
    );
  });
}

test('the id is that of request_id_header, and a tag shows it in a line of text', async (t) => {
  const gw = await load(
    t,
    `server { request_id_header X-Id; error_log ids-json.log error json; error_log ids-text.log;
       error_log_tag rid $ngz_request_id; ${FORBIDDEN} }`,
  );
  await gw.expect('GET /', { status: 403, headers: { 'X-Id': 'abc-7' } }, { headers: { 'X-Id': 'abc-7' } });
  expect(await lineAbout(gw, 'ids-json.log')).toMatchObject({ request_id: 'abc-7', rid: 'abc-7' });
  expect(gw.read('ids-text.log')).toMatch(/, rid: "abc-7"\n/);
});

const tags = [
  { it: 'a server has', server: 'error_log_tag s one;', location: '', tags: { s: 'one' } },
  {
    it: 'a location has in place of those of its server',
    server: 'error_log_tag s one;',
    location: 'error_log_tag l $arg_n; error_log_tag m "x$arg_n";',
    tags: { l: 'two', m: 'xtwo' },
  },
  { it: 'are empty are left out', server: 'error_log_tag s $arg_none;', location: '', tags: {} },
  {
    it: 'have the name of a member get a prefix',
    server: 'error_log_tag level mine;',
    location: '',
    tags: { tag_level: 'mine', level: 'error' },
  },
  {
    it: 'hold credentials are masked',
    server: 'error_log_tag a $http_authorization; error_log_tag q $args;',
    location: '',
    tags: { a: '***', q: 'n=two&token=***' },
  },
];
for (const [index, { it, server, location, tags: expected }] of tags.entries()) {
  test(`tags that ${it}`, async (t) => {
    const file = `tags-${index}.log`;
    const gw = await load(
      t,
      `server { error_log ${file} error json; ${server} location / { ${location} deny all; } }`,
    );
    await gw.expect('GET /?n=two&token=x', { status: 403 }, { headers: { authorization: 'Bearer s3cret' } });
    const line = await lineAbout(gw, file);
    expect(line).toMatchObject(expected);
    const names = new Set(Object.keys(line));
    for (const name of ['s', 'l', 'm', 'a']) expect(names.has(name)).toBe(name in expected);
  });
}
