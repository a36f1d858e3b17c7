import { expect, test } from 'vitest';
import { ON_NODE_ENGINE } from '../../harness/engine.ts';
import { oneGateway } from '../../harness/gateway.ts';

const load = oneGateway();

for (const [status, closes] of [
  [400, true],
  [403, false],
  [404, false],
  // uWebSockets.js reads and drops the rest of the body.
  [413, ON_NODE_ENGINE],
  [414, true],
  [497, true],
  [500, true],
  [501, true],
  [502, false],
] as const) {
  test(`the connection ${closes ? 'closes' : 'stays open'} after the error page of ${status}`, async (t) => {
    const gw = await load(t, `server { location / { return ${status}; } }`);
    const connection = await gw.connect();
    connection.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const response = await connection.until(/<\/html>/);
    expect(/^connection: close/im.test(response)).toBe(closes);
    if (closes) await connection.closed;
    else connection.destroy();
  });
}

test('an error page does not keep a connection open that the error closes', async (t) => {
  const gw = await load(
    t,
    'server { error_page 500 /page; location / { return 500; } location /page { return 200 page; } }',
  );
  expect(await gw.raw('GET / HTTP/1.1\r\nHost: a\r\n\r\n')).toMatch(/^connection: close/im);
});

for (const [conf, server, foot] of [
  ['on', /^gw\/\d/, /^gw\/\d/],
  ['build', /^gw\/\d/, /^gw\/\d/],
  ['off', 'gw', /^gw$/],
  ['mine', 'mine', /^mine$/],
  ['"by $arg_by"', 'by <b>me', /^by &lt;b&gt;me$/],
  ['""', null, /^$/],
] as const) {
  test(`server_tokens ${conf} decides the Server header and the foot of built-in pages`, async (t) => {
    const gw = await load(t, `server { server_tokens ${conf}; location / { return 404; } }`);
    const { body } = await gw.expect('GET /?by=<b>me', { status: 404, headers: { server } });
    expect(/<hr><center>(.*)<\/center>/.exec(body)?.[1]).toMatch(foot);
  });
}

for (const target of ['/after', '@after']) {
  test(`post_action requests ${target} once a response is complete`, async (t) => {
    const gw = await load(
      t,
      `log_subrequest on; log_format who "$uri"; access_log access.log who;
       server { location / { post_action ${target}; return 200 answer; } location ${target} { return 200 after; } }`,
    );
    await gw.expect('GET /x', { status: 200, body: 'answer' });
    await gw.waitForAccessLog(target === '@after' ? /\/x\n\/x\n/ : /\/after\n/);
  });
}
