import { expect, test } from 'vitest';
import { oneGateway, startGateway } from '../harness/gateway.ts';

const main = 'compat skip; stream { server { listen 9; } }';
const load = oneGateway({ main });

const SECRET = 'return 200 secret;';

/** What stands in `http`, and the status of `/`. */
interface Case {
  readonly it: string;
  readonly http: string;
  readonly status: number;
}

const cases: readonly Case[] = [
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
    http: `auth_ldap realm; server { location / { ${SECRET} } }`,
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
    it: 'the methods for which "limit_except" has such a directive',
    http: `server { location / { limit_except POST { auth_ldap realm; } ${SECRET} } }`,
    status: 501,
  },
  {
    it: 'a location that would set headers of the request',
    http: `server { location / { more_set_input_headers "X-User: guest"; ${SECRET} } }`,
    status: 501,
  },
  {
    it: 'a server with limits of another module',
    http: `server { vhost_traffic_status_limit_traffic in:1k; location / { ${SECRET} } }`,
    status: 501,
  },
  {
    it: 'a location with a directive that only measures',
    http: `lua_shared_dict a 1m; server { status_zone z; location / { log_by_lua_block { x() } ${SECRET} } }`,
    status: 200,
  },
  {
    it: 'a location with a directive that only traces',
    http: `upstream u { otel_upstream_span_enable; server 127.0.0.1:1; } server { location / { ${SECRET} } }`,
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
    it: 'a location that decides by what several blocks make of such a variable',
    http: `js_set $who http.who; map $host $whom { default $who; } split_clients "$whom" $part { * a; }
           geo $part $net { default 0; } server { location / { if ($net) { return 403; } ${SECRET} } }`,
    status: 501,
  },
  {
    it: 'a location that only tells such a variable',
    http: `log_format country $geoip_country_code; access_log access.log country;
           server { location / { add_header X-Country $geoip_country_code; ${SECRET} } }`,
    status: 200,
  },
  {
    it: 'a location with a header that forbids something',
    http: `map $geoip_city $shared { '' public; default private; }
           server { location / { add_header Cache-Control $shared; ${SECRET} } }`,
    status: 501,
  },
  {
    it: 'a limit whose key is such a variable',
    http: `js_set $client http.client; limit_req_zone $client zone=z:1m rate=1r/m; limit_req zone=z;
           server { location / { root html; } }`,
    status: 501,
  },
  {
    it: 'a location that names no such limit',
    http: `js_set $client http.client; limit_req_zone $client zone=z:1m rate=1r/m;
           server { location / { ${SECRET} } location /limited { limit_req zone=z; } }`,
    status: 200,
  },
  {
    it: 'a secret that is such a variable',
    http: `js_set $secret http.secret; secure_link $arg_md5; secure_link_md5 "$uri $secret";
           server { location / { if ($secure_link = "") { return 403; } root html; } }`,
    status: 501,
  },
  {
    it: 'a root in http with such a variable',
    http: 'js_set $tenant http.tenant; root /srv/$tenant; server { location / { index a; } }',
    status: 501,
  },
  {
    it: 'a cache key in http with such a variable',
    http: `js_set $user_id http.user; proxy_cache_key "$uri $user_id";
           server { location / { proxy_pass http://127.0.0.1:1; } }`,
    status: 501,
  },
  {
    it: 'a location with a key of its own',
    http: `js_set $user_id http.user; proxy_cache_key "$uri $user_id"; fastcgi_param USER $user_id;
           server { location / { proxy_cache_key $uri; proxy_pass http://127.0.0.1:1; } }`,
    status: 502,
  },
  {
    it: 'a header towards the upstream',
    http: `js_set $user http.user; proxy_set_header X-User $user;
           server { location / { proxy_pass http://127.0.0.1:1; } }`,
    status: 501,
  },
  {
    it: 'a header towards the upstream that is named as if the client had sent it',
    http: `js_set $http_x_user http.user; proxy_set_header X-User $http_x_user;
           server { location / { proxy_pass http://127.0.0.1:1; } }`,
    status: 501,
  },
  {
    it: 'a location that decides by a cookie of another module',
    http: `geoip_city /x; js_set $cookie_ok http.sub;
           server { location / { if ($cookie_ok != 1) { return 403; } ${SECRET} } }`,
    status: 501,
  },
  {
    it: 'a location that passes to a group with such a directive',
    http: `upstream up { server 127.0.0.1:1; ntlm; } server { location / { proxy_pass http://up; } }`,
    status: 501,
  },
  {
    it: 'a location that passes to a group balanced by such a variable',
    http: `upstream up { hash $geoip_city; server 127.0.0.1:1; } server { location / { proxy_pass http://up; } }`,
    status: 501,
  },
  {
    it: 'a group that a variable names',
    http: `upstream up { server 127.0.0.1:1; ntlm; } map $host $to { default up; }
           server { location / { proxy_pass http://$to; error_page 501 =200 /page; } location /page { ${SECRET} } }`,
    status: 501,
  },
  {
    it: 'a location beside one that passes to such a group',
    http: `upstream up { server 127.0.0.1:1; check interval=3000; }
           server { location / { ${SECRET} } location /up { proxy_pass http://up; } }`,
    status: 200,
  },
  {
    it: 'a location with a page for this status',
    http: `server { error_page 501 =200 /page; location / { dav_methods PUT; } location /page { ${SECRET} } }`,
    status: 501,
  },
  {
    it: 'an error page that is not served',
    http: `server { error_page 404 =200 /page; location / { return 404; } location /page { dav_methods PUT; } }`,
    status: 501,
  },
  {
    it: 'a server level with such a variable, by its named location',
    http: `server { set $x $geoip_city; location / { try_files /none @named; } location @named { ${SECRET} } }`,
    status: 501,
  },
  {
    it: 'a variable of the configuration that is named like one of nginx',
    http: `map $host $geoip_country_code { default CH; }
           server { location / { return 200 $geoip_country_code; } }`,
    status: 200,
  },
  {
    it: 'a location beside a table that reads a built-in variable',
    http: `num_map $remote_addr $is_refused { default 0; 10 1; }
           server { location / { return 200 $remote_addr; } }`,
    status: 200,
  },
  {
    it: 'a location beside a table that reads what the client sends',
    http: `num_map $arg_user $is_refused { default 0; 10 1; }
           server { location / { return 200 $arg_user; } }`,
    status: 200,
  },
  {
    it: 'a location that decides by a table named like an argument',
    http: `num_map $remote_addr $arg_banned { default 0; 10 1; }
           server { location / { if ($arg_banned) { return 403; } ${SECRET} } }`,
    status: 501,
  },
  {
    it: 'a location that decides by such a table',
    http: `num_map $remote_addr $is_refused { default 0; 10 1; }
           server { location / { if ($is_refused) { return 403; } ${SECRET} } }`,
    status: 501,
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
