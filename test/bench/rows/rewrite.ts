import { compare } from '../compare.ts';
import { httpLoad } from '../load.ts';
import type { Row } from '../row.ts';
import { type Server, startGw, startNginx } from '../servers.ts';

const CONTENT = {
  http: `
    map $uri $page { /old /new; ~^/blog/(?<slug>[a-z-]+)$ /posts/$slug; default ""; }
    map $http_host $tenant { hostnames; *.example.com example; default other; }
    map $arg_id $kind { 42 answer; ~^\\d+$ number; default text; }`,
  server: `
    location /text { return 200 "$tenant $kind $arg_id"; }
    location /old { return 200 $page; }
    location /blog/ { return 200 $page; }
    location /shop/ { rewrite ^/shop/(\\d+)/(.*)$ /item?id=$1&name=$2 last; }
    location /item { return 200 "$uri?$args"; }
    location /set/ { set $shown plain; if ($arg_a = b) { set $shown b; } if ($uri ~ ^/set/(.*)$) { set $rest $1; } return 200 "$shown $rest"; }
    location /changed/ { rewrite ^/changed/(.*)$ /stays/$1; return 200 $uri; }
    location / { return 200 ok; }`,
};

const TARGETS = ['/text?id=42', '/old', '/blog/a-post', '/shop/7/shoe?x=1', '/set/a?a=b', '/changed/x'];

/** The cost of a site's `return`, `map` and `rewrite` directives, in turns. */
export const rewriteRow: Row = {
  name: 'rewrite',
  async run(bench) {
    const script = `
      local targets, requests, turn = { ${TARGETS.map((target) => `"${target}"`).join(', ')} }, {}, 0
      init = function() for i, target in ipairs(targets) do requests[i] = wrk.format("GET", target) end end
      request = function() turn = turn % #requests + 1; return requests[turn] end`;
    const load = (name: string, { port, pid }: Server) =>
      httpLoad(bench, { name, port, script, servers: [pid] });
    return compare(bench, load('gw rewrite', await startGw(bench, CONTENT)), [
      {
        line: 'return, map, rewrite / nginx',
        goal: 0.8,
        open: async () => load('nginx rewrite', await startNginx(bench, CONTENT)),
      },
    ]);
  },
};
