import { expect, test } from 'vitest';
import { oneGateway, startGateway } from '../harness/gateway.ts';

const main = 'compat skip; stream { server { listen 9; } }';
const load = oneGateway({ main });

const SECRET = 'return 200 secret;';

/** What stands in `http`, and the status of `/`. */
const cases: readonly { readonly it: string; readonly http: string; readonly status: number }[] = [
  { it: 'a location without such directives', http: `server { location / { ${SECRET} } }`, status: 200 },
  {
    it: 'a location that another module would guard',
    http: `server { location / { access_by_lua_file /x.lua; ${SECRET} } }`,
    status: 501,
  },
  {
    it: 'a location with Lua in place of content',
    http: 'server { location / { content_by_lua_block { ngx.say("}") } } }',
    status: 501,
  },
  {
    it: 'a location inside one that is not served',
    http: `server { location ~ . { dav_methods PUT; location / { ${SECRET} } } }`,
    status: 501,
  },
  {
    it: 'a server that another module would guard',
    http: `server { modsecurity on; location / { ${SECRET} } }`,
    status: 501,
  },
  {
    it: 'everything that another module would guard',
    http: `auth_jwt realm; server { location / { ${SECRET} } }`,
    status: 501,
  },
  {
    it: 'the requests for which an "if" has such a directive',
    http: `server { location / { if ($uri = /) { image_filter test; } ${SECRET} } }`,
    status: 501,
  },
  {
    it: 'the other requests of that location',
    http: `server { location / { if ($uri = /x) { image_filter test; } ${SECRET} } }`,
    status: 200,
  },
  {
    it: 'a location with a directive that only measures',
    http: `lua_shared_dict a 1m; server { status_zone z; location / { log_by_lua_block { x() } ${SECRET} } }`,
    status: 200,
  },
  {
    it: 'a location that decides by a variable of another module',
    http: `server { location / { if ($geoip_country_code = XX) { return 403; } ${SECRET} } }`,
    status: 501,
  },
  {
    it: 'a location that decides by what a map makes of such a variable',
    http: `js_set $who http.who; map $who $refused { nobody 1; }
           server { location / { if ($refused) { return 403; } ${SECRET} } }`,
    status: 501,
  },
  {
    it: 'a location that only tells such a variable',
    http: `log_format country $geoip_country_code; access_log access.log country;
           server { location / { add_header X-Country $geoip_country_code; ${SECRET} } }`,
    status: 200,
  },
  {
    it: 'a location that passes to a group with such a directive',
    http: `upstream up { server 127.0.0.1:1; check interval=3000; } server { location / { ${SECRET} } location /up { proxy_pass http://up; } }`,
    status: 200,
  },
];

for (const { it, http, status } of cases) {
  test(`"compat skip" answers ${status} for ${it}`, async (t) => {
    const gw = await load(t, http);
    await gw.expect('GET /', { status });
  });
}

test('what is not served is told at the start, in the log, and with each request', async (t) => {
  const gw = await startGateway(t, 'server { location /lua { content_by_lua_file /x.lua; } }', { main });
  const told = /\[warn\] .*"content_by_lua_file" directive is not supported, its requests get 501 in /;
  await gw.waitForLog(told);
  await gw.waitForLog(/\[warn\] .*"stream" directive is not supported, its ports are not opened in /);
  expect((await gw.fetch('/lua')).status).toBe(501);
  await gw.waitForLog(/\[error\] .*not served: "content_by_lua_file" is not supported, client: /);
});
